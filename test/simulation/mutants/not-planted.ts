/** What was found with the protocol, and is planted nowhere: why not. Every other finding has a mutant that bears its name. */
export const notPlanted: readonly { readonly source: string; readonly what: string; readonly why: string }[] = [
  {
    source: 'item 5',
    what: 'a watch without a lease: each further ring attaches to a job that is watched',
    why: 'wasteful and not wrong: every write of a watch is fenced by its attempt, so that the older watcher stops',
  },
  {
    source: 'item 6',
    what: 'a lowered cap that a warm worker still takes for the higher one',
    why: 'no worker knows the cap: the write that holds compares it, which is the mutant "a full lane gives another unit"',
  },
  {
    source: 'item 9',
    what: 'a resend that gives away the dedupe of a vendor that replays',
    why: "a person's choice, after the unit is freed (V9): the runbook names the retake first",
  },
  {
    source: 'item 11',
    what: 'a job in flight without its unit wakes nobody',
    why: 'no run comes to it without another bug, which is caught at once: the alarm has a test of its own',
  },
];
