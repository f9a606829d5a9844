/** What accepted work counts at in the week of a member, until its cost is known. */
export interface WorkHold {
  /** Id of the member. */
  readonly member: string
  readonly credits: number
  /** The week, as its number. */
  readonly week: number
}

/** Work whose results have passed: its cost is the greater one of two. */
export interface FinishedWork {
  readonly id: string
  /** What the last result says. */
  readonly credits: number
  /** Price of each record that passed; 0 where the result says it all. */
  readonly price: number
}
