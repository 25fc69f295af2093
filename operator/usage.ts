/** What a person did wrong; said without a stack. */
export class UsageError extends Error {}

/** A person asked how the tool is used. */
export class HelpWanted extends Error {}
