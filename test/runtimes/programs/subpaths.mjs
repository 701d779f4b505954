/** Every subpath that is named is imported; the model runs. Prints the number of names of each, and what the model polled. */
const [, , ...subpaths] = process.argv
const modules = {}
for (const subpath of subpaths) modules[subpath] = Object.keys(await import(`ottla/${subpath}`)).length > 0

const { Topic } = await import('ottla/model')
const topic = new Topic(6)
topic.append('user-1', 'hello')
topic.join('billing', 'a')
const polled = [topic.poll('billing', 'a')].flat().map(record => record?.value)
console.log(JSON.stringify({ modules, polled }))
