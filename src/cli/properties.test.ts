import { describe, expect, it } from 'vitest'
import { parseProperties } from './properties.ts'

describe('parseProperties', () => {
  it('reads what a server.properties holds', () => {
    const text = `
# a comment
! another one
group.min.session.timeout.ms=1000
  num.partitions = 3  \r
log.retention.hours:12
broker.rack   r 1
empty=
alone
listeners=PLAINTEXT://:9092,\\
    CONTROLLER://:9093
num.partitions=4
`
    expect(parseProperties(text)).toEqual({
      'group.min.session.timeout.ms': '1000',
      'num.partitions': '4',
      'log.retention.hours': '12',
      'broker.rack': 'r 1',
      empty: '',
      alone: '',
      listeners: 'PLAINTEXT://:9092,CONTROLLER://:9093',
    })
  })

  it('knows the escapes, and keeps blanks at the end of a value as Java does', () => {
    expect(parseProperties('a\\=b\\:c\\ d=x\\ty\\u00e9\\z ')).toEqual({ 'a=b:c d': 'x\ty\u00e9z ' })
  })

  it('takes an even number of backslashes at the end of a line for what they are', () => {
    expect(parseProperties('path=C:\\\\\nnext=1')).toEqual({ path: 'C:\\', next: '1' })
    expect(parseProperties('path=C:\\\\\\\nnext=1')).toEqual({ path: 'C:\\next=1' })
  })

  it('does not take a continued line for a comment', () => {
    expect(parseProperties('a=1,\\\n  #2')).toEqual({ a: '1,#2' })
  })
})
