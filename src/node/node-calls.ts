/**
 * The methods of a broker of a cluster by their names, for calls from another thread: both ends are here, so that they agree.
 */
import type { ClusterNode, NodeControls, NodeMethods } from './node-methods.ts'

/** Every method; records, so that none can be forgotten. */
const METHODS: Record<keyof NodeMethods, true> = {
  describe: true,
  requests: true,
  evictMembers: true,
  addFault: true,
  addNamedFault: true,
  endFault: true,
  heldBy: true,
  releaseFrom: true,
  offsetsOf: true,
  readRecords: true,
  appendRecords: true,
  clearRecords: true,
  coordinatedGroup: true,
  loadedCoordinators: true,
  counters: true,
  changed: true,
}
const CONTROLS: Record<keyof NodeControls, true> = {
  listen: true,
  register: true,
  kill: true,
  stop: true,
  start: true,
  pause: true,
  resume: true,
  snapshot: true,
  halt: true,
  begin: true,
  close: true,
}

type Call = (method: string, args: unknown[]) => Promise<unknown>

/** The methods of a broker elsewhere, each made by `call`. */
export function nodeMethodsBy(call: Call): NodeMethods {
  const entries = Object.keys(METHODS).map(name => [name, (...args: unknown[]) => call(name, args)])
  return Object.fromEntries(entries)
}

/** Does one thing, or asks one, by its name. */
export async function callNode(node: ClusterNode, name: string, args: unknown[]): Promise<unknown> {
  const owner: object = Object.hasOwn(CONTROLS, name) ? node : node.methods
  return (owner as Record<string, (...args: unknown[]) => Promise<unknown>>)[name](...args)
}
