import type { Similarity } from '../../engine/ports/ports.js'

/** What companies are compared by. */
export type Aspect = Exclude<keyof Similarity, 'score'>

/** How much each aspect counts where all of them are known; together 1. */
export const weights: Readonly<Record<Aspect, number>> = {
  industry: 0.35,
  technologies: 0.25,
  size: 0.2,
  country: 0.1,
  growth: 0.1,
}

/** Companies are alike from this score on. */
export const leastScore = 0.6
/** Where less than this of the weights is known of a company, nothing is said to resemble it. */
export const leastKnown = 0.5
/** Headcounts that differ by this factor are not alike at all. */
export const sizeFactor = 10
/** Growths of 12 months that differ by so many percentage points are not alike at all. */
export const growthPoints = 50
/** A headcount for each company size, in their order, where no exact one is known. */
export const usualHeadcounts: readonly number[] = [1, 5, 25, 110, 320, 700, 2_200, 7_000, 15_000]
/** Scores are whole numbers of this, so that companies of one score keep the order of their keys. */
export const scoreUnits = 10_000

/** A company that others are compared with; what is not known of it is null. */
export interface Example {
  readonly key: number
  readonly industry: string | null
  readonly industry_name: string | null
  readonly headcount: number | null
  readonly country: string | null
  /** How many technologies it uses. */
  readonly technologies: number
  /** Per cent in 12 months. */
  readonly growth: number | null
}

/** What a comparison with a company needs. Of its weights only those of known aspects are left; together 1. */
export interface Yardstick extends Example {
  readonly weights: Readonly<Record<Aspect, number>>
  /**
   * The least that industry, size and country must score: technologies and growth cannot make up for less. Null where
   * too little is known of the company for anything to resemble it.
   */
  readonly leastBase: number | null
}

/** How others are compared with a company. */
export function yardstick(example: Example): Yardstick {
  const known: Readonly<Record<Aspect, boolean>> = {
    industry: example.industry !== null || example.industry_name !== null,
    technologies: example.technologies > 0,
    size: example.headcount !== null,
    country: example.country !== null,
    growth: example.growth !== null,
  }
  const aspects = Object.keys(weights) as Aspect[]
  const whole = aspects.reduce((sum, aspect) => sum + (known[aspect] ? weights[aspect] : 0), 0)
  const scaled = (aspect: Aspect) => (known[aspect] ? weights[aspect] / whole : 0)
  const own = Object.fromEntries(aspects.map((aspect) => [aspect, scaled(aspect)])) as Record<Aspect, number>
  // A unit of the score is left for its rounding.
  const leastBase = leastScore - own.technologies - own.growth - 1 / scoreUnits
  return { ...example, weights: own, leastBase: whole < leastKnown ? null : leastBase }
}
