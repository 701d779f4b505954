/** Reads and writes tools.txt: commands of a shell, and what they printed. Comments stay where they were. */

export interface Command {
  /** Empty lines, comments: whatever stands before the command. */
  readonly before: readonly string[]
  readonly files: readonly { name: string; content: string }[]
  /** The tool and its arguments, without the bootstrap servers. */
  readonly text: string
  readonly input: readonly string[]
  output: string[]
}

export function parseTranscript(text: string): Command[] {
  const commands: Command[] = []
  let before: string[] = []
  let files: { name: string; content: string }[] = []
  let current: { input: string[]; output: string[] } | undefined
  for (const line of text.replace(/\n+$/, '').split('\n')) {
    if (line.startsWith('$ ')) {
      current = { input: [], output: [] }
      commands.push(Object.assign(current, { before, files, text: line.slice(2) }))
      before = []
      files = []
    } else if (line.startsWith('file ')) {
      const [, name, content] = /^file (\S+) (.*)$/.exec(line) as RegExpExecArray
      files.push({ name, content })
    } else if (line.startsWith('< ') && current !== undefined) current.input.push(line.slice(2))
    else if (line === '' || line.startsWith('#')) {
      before.push(line)
      current = undefined
    } else current?.output.push(line === '.' ? '' : line)
  }
  return commands
}

/** An empty line of output is written as a dot, since an empty line ends the output. */
export function renderTranscript(commands: readonly Command[]): string {
  const lines = commands.flatMap(({ before, files, text, input, output }) => [
    ...before,
    ...files.map(({ name, content }) => `file ${name} ${content}`),
    `$ ${text}`,
    ...input.map(line => `< ${line}`),
    ...output.map(line => line || '.'),
  ])
  return `${lines.join('\n')}\n`
}
