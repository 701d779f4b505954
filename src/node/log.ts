/**
 * Where log lines go: the `log` option in its three shapes becomes one function, with the levels below `logLevel` left
 * out. It formats nothing but the default, which prints warnings and errors to standard error.
 */
import type { LogFields, LogLevel } from '../util/env.ts'

/** Takes one log line: a constant message, and what varies as fields. */
export type LogFunction = (level: LogLevel, message: string, fields: LogFields) => void

/** A logger of the kind of pino or bunyan: a method per level that takes the fields and then the message. */
export interface LoggerLike {
  trace(fields: object, message: string): void
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** A function, a logger, or `false` for silence. */
export type LogOption = LogFunction | LoggerLike | false

/** The levels, least important first. */
export const LOG_LEVELS: readonly LogLevel[] = ['trace', 'debug', 'info', 'warn', 'error']

/**
 * Makes the one function of the `log` option. A logger that throws must not harm the broker: what it threw becomes a
 * warning of the process.
 */
export function makeLog(option: LogOption | undefined, logLevel: LogLevel | undefined): LogFunction {
  if (option === false) return () => {}
  const least = LOG_LEVELS.indexOf(logLevel ?? (option === undefined ? 'warn' : 'info'))
  const write = toFunction(option)
  return (level, message, fields) => {
    if (LOG_LEVELS.indexOf(level) < least) return
    try {
      write(level, message, fields)
    } catch (error) {
      process.emitWarning(`the log option threw: ${error}`, 'OttlaWarning')
    }
  }
}

function toFunction(option: LogFunction | LoggerLike | undefined): LogFunction {
  if (option === undefined) return writeLine
  if (typeof option === 'function') return option
  return (level, message, fields) => option[level](fields, message)
}

function writeLine(level: LogLevel, message: string, fields: LogFields): void {
  process.stderr.write(`${formatLine(new Date().toISOString(), level, message, fields)}\n`)
}

/** One line of text: the message, then the fields as `key=value`, quoted where they need it. */
export function formatLine(time: string, level: LogLevel, message: string, fields: LogFields): string {
  let line = `${time} ${level.toUpperCase().padEnd(5)} ${message}`
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined) continue
    const text = String(value)
    line += ` ${key}=${/^[^\s"=]+$/.test(text) ? text : JSON.stringify(text)}`
  }
  return line
}
