import { describe, expect, it, vi } from 'vitest'
import { formatLine, makeLog } from './log.ts'

describe('makeLog', () => {
  it('calls a function with level, message and fields, from info on', () => {
    const lines: unknown[] = []
    const log = makeLog((...line) => lines.push(line), undefined)
    log('debug', 'left out', {})
    log('info', 'told', { port: 1 })
    expect(lines).toEqual([['info', 'told', { port: 1 }]])
  })

  it('calls the method of a logger with the fields first, and keeps its this', () => {
    const logger = {
      lines: [] as unknown[],
      trace: take('trace'),
      debug: take('debug'),
      info: take('info'),
      warn: take('warn'),
      error: take('error'),
    }
    function take(level: string) {
      return function (this: { lines: unknown[] }, fields: object, message: string) {
        this.lines.push([level, fields, message])
      }
    }
    const log = makeLog(logger, 'trace')
    log('trace', 'small', { a: 1 })
    log('error', 'big', {})
    expect(logger.lines).toEqual([
      ['trace', { a: 1 }, 'small'],
      ['error', {}, 'big'],
    ])
  })

  it('is silent for false, and prints warnings to standard error by default', () => {
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    makeLog(false, 'trace')('error', 'silent', {})
    makeLog(undefined, undefined)('info', 'not this one', {})
    makeLog(undefined, undefined)('warn', 'this one', { host: 'a b' })
    const written = write.mock.calls.map(call => String(call[0]))
    write.mockRestore()
    expect(written).toEqual([expect.stringMatching(/^\S+Z WARN {2}this one host="a b"\n$/)])
  })

  it('does not let a logger that throws harm the broker', () => {
    const emit = vi.spyOn(process, 'emitWarning').mockReturnValue(undefined)
    const log = makeLog(() => {
      throw new Error('disk full')
    }, 'info')
    log('info', 'told', {})
    const warned = emit.mock.calls.map(call => String(call[0]))
    emit.mockRestore()
    expect(warned).toEqual(['the log option threw: Error: disk full'])
  })
})

describe('formatLine', () => {
  it('quotes only what needs it and leaves out what is undefined', () => {
    expect(formatLine('now', 'info', 'hi', { a: 1, b: 'x y', c: undefined, d: null, e: '', f: 'a=b' })).toBe(
      'now INFO  hi a=1 b="x y" d=null e="" f="a=b"',
    )
  })
})
