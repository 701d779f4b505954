/**
 * What a lab tells: a series of steps on the model. A step says what is done, what was answered, what is now true, and why.
 * Answers and states come from the model; only the sentences are written by hand. As JSON the fields stay as they are, while
 * the sentences may be reworded.
 */
import { wrap } from './table.ts'

/** What a call returned, field by field, or the error it threw; `null` if there is nothing to tell. */
type Answer = Readonly<Record<string, unknown>> | null

/** A step before it is taken: `run` does something to the scene of the lab. */
export interface Act<Scene> {
  action: string
  run: (scene: Scene) => Answer
  why: string
}

export interface Step<State> {
  action: string
  answer: Answer
  state: State
  why: string
}

export interface Story<State> {
  lab: string
  about: string
  steps: Step<State>[]
}

const WIDTH = 100

/** Takes the steps one after the other. An error of the model is an answer like any other. */
export function play<Scene, State>(
  scene: Scene,
  acts: readonly Act<Scene>[],
  describe: (scene: Scene) => State,
): Step<State>[] {
  return acts.map(({ action, run, why }) => {
    const answer = attempt(() => run(scene))
    return { action: oneLine(action), answer, state: describe(scene), why: oneLine(why) }
  })
}

/** Undoes the line breaks of the source. */
function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}

function attempt(run: () => Answer): Answer {
  try {
    return run()
  } catch (error) {
    const { name, message } = error as Error
    return { error: name, message }
  }
}

/** The story for people; `draw` says how a state looks. */
export function storyAsText<State>(story: Story<State>, draw: (state: State) => string[]): string {
  const lines = wrap(`ottla lab ${story.lab}: ${story.about}`, WIDTH)
  for (const [index, { action, answer, state, why }] of story.steps.entries()) {
    const number = `${index + 1}.`
    lines.push('', ...hanging(`${number} `, action))
    if (answer !== null) lines.push(...hanging('   answer: ', answerAsText(answer)))
    lines.push('', ...draw(state).map(line => `     ${line}`.trimEnd()), '')
    lines.push(...hanging('   why: ', why))
  }
  return `${lines.join('\n')}\n`
}

function answerAsText(answer: Readonly<Record<string, unknown>>): string {
  if ('error' in answer) return `${answer.error}: ${answer.message}`
  return Object.entries(answer)
    .map(([name, value]) => `${name}=${typeof value === 'object' ? JSON.stringify(value) : value}`)
    .join(' ')
}

/** A paragraph whose lines stand under the first word after the label. */
function hanging(label: string, text: string): string[] {
  return wrap(text, WIDTH - label.length).map((line, index) => (index === 0 ? label : ' '.repeat(label.length)) + line)
}
