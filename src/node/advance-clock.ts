/**
 * Moving the clock of brokers that live in virtual time, as a test asks for it.
 */
import { parseDuration } from '../util/duration.ts'
import type { AdvanceOptions } from './broker-methods.ts'
import { OttlaError } from './errors.ts'
import { invalid } from './options.ts'
import type { SystemEnv } from './system-env.ts'

/** @throws OttlaError `OTTLA_INVALID_OPTION` for what is no span of time, `OTTLA_WRONG_MODE` for a clock that is the real one */
export function advanceClock(env: SystemEnv, time: number | string, { sessions }: AdvanceOptions = {}): void {
  const ms = parseDuration(time)
  if (ms === undefined) {
    throw invalid(`not a span of time: ${time}`, "write it in milliseconds, or as '7d', '1h30m', '250ms'")
  }
  if (!env.aheadOfClients) {
    const hint = "start it with the option time: 'virtual'"
    throw new OttlaError('OTTLA_WRONG_MODE', "the broker's clock is the real one, which cannot be moved", { hint })
  }
  env.advance(ms, { clients: sessions })
}
