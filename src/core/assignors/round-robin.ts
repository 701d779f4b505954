// The round-robin assignor: all partitions of all topics in order, dealt to the members in a circle, skipping a member that did
// not subscribe. It does not look at racks or at who owned what, so one change of membership can move almost everything.
// Follows RoundRobinAssignor.

import { type Assignor, assignableTopics, idle, inStaticOrder } from './assignor.ts'

/** `roundrobin`. */
export const roundRobinAssignor: Assignor = {
  name: 'roundrobin',
  rebalanceProtocol: 'eager',
  assign(input) {
    const assignment = idle(input.members)
    const circle = inStaticOrder(input.members)
    let turn = 0
    for (const topic of assignableTopics(input)) {
      for (let partition = 0; partition < input.partitions.get(topic)!; partition++) {
        // Somebody subscribes to the topic, or it would not be assignable: the walk ends.
        while (!circle[turn % circle.length].topics.includes(topic)) turn++
        assignment.get(circle[turn % circle.length].memberId)!.push({ topic, partition })
        turn++
      }
    }
    return assignment
  },
}
