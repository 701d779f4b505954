import { OttlaError } from './errors.ts'

/** What to say when an address cannot be listened on, and what to do about it. */
export function listenError(error: NodeJS.ErrnoException, host: string, port: number): OttlaError {
  const address = `${host}:${port}`
  if (error.code === 'EADDRINUSE') {
    return new OttlaError('OTTLA_PORT_IN_USE', `port ${port} on ${host} is taken`, {
      hint: 'stop whoever listens there, choose another port, or take port 0 for any that is free',
      cause: error,
    })
  }
  const hints: Record<string, string> = {
    EACCES: 'ports below 1024 need privileges; choose a higher one',
    EADDRNOTAVAIL: 'this machine has no such address; 127.0.0.1 is always there, 0.0.0.0 means all of them',
    ENOTFOUND: 'the name of the host cannot be resolved; try 127.0.0.1',
    EAI_AGAIN: 'the name of the host cannot be resolved; try 127.0.0.1',
  }
  return new OttlaError('OTTLA_LISTEN_FAILED', `cannot listen on ${address}: ${error.code ?? error.message}`, {
    hint: hints[error.code ?? ''],
    cause: error,
  })
}
