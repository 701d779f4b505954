/**
 * The states of a classic group, and what every request gets in each. This file is the map of the folder: the rules
 * themselves stand in the file of each request. Follows `ClassicGroupState` and `ClassicGroup`.
 *
 * | | Empty | PreparingRebalance | CompletingRebalance | Stable |
 * |---|---|---|---|---|
 * | means | no members | joins are collected | joined, the leader assigns | assigned |
 * | Join, new member | parked, → Preparing | parked | parked, → Preparing | parked, → Preparing |
 * | Join, known member, same metadata | UNKNOWN_MEMBER_ID | parked | this generation again | leader: parked, → Preparing; others: this generation again |
 * | Join, known member, other metadata | UNKNOWN_MEMBER_ID | parked | parked, → Preparing | parked, → Preparing |
 * | Join, new holder of a known instance id | – | parked, old holder fenced | parked, → Preparing | this generation again, unless another protocol wins: parked, → Preparing |
 * | Sync | UNKNOWN_MEMBER_ID | REBALANCE_IN_PROGRESS | parked; the leader's: → Stable once stored | the assignment |
 * | Heartbeat | UNKNOWN_MEMBER_ID | REBALANCE_IN_PROGRESS | NONE | NONE |
 * | Leave | UNKNOWN_MEMBER_ID | gone; was it the last one missing: → Completing | gone, → Preparing | gone, → Preparing |
 * | Commit with generation | UNKNOWN_MEMBER_ID | stored | REBALANCE_IN_PROGRESS | stored |
 * | Commit without | stored | UNKNOWN_MEMBER_ID | UNKNOWN_MEMBER_ID | UNKNOWN_MEMBER_ID |
 * | DeleteGroups | deleted | NON_EMPTY_GROUP | NON_EMPTY_GROUP | NON_EMPTY_GROUP |
 *
 * Before that each request is held against the member id (UNKNOWN_MEMBER_ID), the instance id (FENCED_INSTANCE_ID),
 * the generation (ILLEGAL_GENERATION) and the protocols (INCONSISTENT_GROUP_PROTOCOL).
 *
 * | event | what happens |
 * |---|---|
 * | all members have joined, no id is pending | Preparing → Completing (nobody left: → Empty); generation + 1 |
 * | the rebalance timeout, while Preparing | dynamic members that did not join are removed, then the same; if no member at all joined, wait again |
 * | the initial delay, after Empty | the same, unless somebody new joined meanwhile: wait again, within the rebalance timeout |
 * | session timeout of a member that is not parked | removed; Completing, Stable → Preparing |
 * | session timeout of a pending id | forgotten |
 * | first join parked for five minutes | answered UNKNOWN_MEMBER_ID, removed |
 * | rebalance timeout without a member's sync | removed; → Preparing |
 * | the assignment cannot be stored | syncs get the error; → Preparing |
 *
 * A group that does not exist, or was deleted, is "Dead" to DescribeGroups and unknown to everybody else.
 */
export type ClassicGroupState = 'Empty' | 'PreparingRebalance' | 'CompletingRebalance' | 'Stable'

/** From which states each may be entered; anything else is a mistake of ours. */
export const PREVIOUS_STATES: Readonly<Record<ClassicGroupState, readonly ClassicGroupState[]>> = {
  Empty: ['PreparingRebalance'],
  PreparingRebalance: ['Stable', 'CompletingRebalance', 'Empty'],
  CompletingRebalance: ['PreparingRebalance'],
  Stable: ['CompletingRebalance'],
}
