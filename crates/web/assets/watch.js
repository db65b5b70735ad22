// @ts-check
// A run while it is computed, and two runs side by side. What draws the charts is the server's dashboard's: common.js and charts.js.

/** @typedef {{ policy: string, points: [number, number][] }} Course */

/** Points of a line; with more, every other one is left out. */
const MOST = 400;
/** Lines that differ in colour. */
const COLOURS = ["a", "b", "c", "d", "e", "f", "g", "h"];
/** Milliseconds between two drawings, and where little motion is wanted. */
const [OFTEN, SELDOM] = [100, 1000];

/** The write amplification of runs in progress. */
export class Courses {
  /** @param {HTMLElement} place */
  constructor(place) {
    this.chart = new Chart(place, "Write amplification so far", { x: grouped, y: (y) => fixed(y, 2), axis: "host pages" });
    this.place = place;
    /** @type {Course[]} */
    this.courses = [];
    this.waits = false;
  }

  /** Begins anew. @param {string[]} policies */
  begin(policies) {
    this.courses = policies.map((policy) => ({ policy, points: [] }));
    this.draw();
  }

  /** A run is so far. @param {string} policy @param {number} written pages of the host @param {number} copied */
  add(policy, written, copied) {
    const course = this.courses.find((it) => it.policy === policy);
    if (!course || written <= 0) return;
    const { points } = course;
    // The input is repeated, and the count begins anew.
    if (points.length && points[points.length - 1][0] > written) points.length = 0;
    points.push([written, (written + copied) / written]);
    if (points.length > MOST) course.points = points.filter((_, i) => i % 2 === 1);
    if (this.waits) return;
    this.waits = true;
    setTimeout(() => {
      this.waits = false;
      this.draw();
    }, SLOW.matches ? SELDOM : OFTEN);
  }

  draw() {
    const lines = this.courses.map(({ policy, points }, i) => ({
      name: policy, points, colour: COLOURS[i % COLOURS.length], dash: ["", "8 4", "3 3", "10 3 3 3"][Math.floor(i / COLOURS.length) % 4],
    }));
    this.chart.lines(lines.filter(({ points }) => points.length));
  }
}

/** An excerpt of a run: where it begins, as a share, and blocks full of host writes. @typedef {{ from: number, blocks: number }} Excerpt */

/**
 * The page with two runs side by side.
 * @param {(question: string, progress?: (share: { read?: number, done?: number }) => void) => Promise<{ text: string }>} asked
 * @param {[string, string | null][]} given @param {string[]} policies @param {Excerpt} excerpt @param {(share: number) => void} tell how far the slowest is
 * @returns {Promise<string>}
 */
export const replayed = async (asked, given, policies, excerpt, tell) => {
  const of = (/** @type {string} */ policy) => JSON.stringify([...given, ["policies", policy], ["no-oracle", null]]);
  const shares = policies.map(() => 0);
  const parts = await Promise.all(policies.map(async (policy, i) => {
    const { text } = await asked(`{"ask":"watch","settings":${of(policy)},"excerpt":${JSON.stringify(excerpt)}}`, ({ done }) => {
      shares[i] = done ?? 0;
      tell(Math.min(...shares));
    });
    return text;
  }));
  const { text } = await asked(`{"ask":"replay","settings":${of(policies.join(","))},"excerpt":${JSON.stringify(excerpt)},"parts":[${parts}]}`);
  const { value, error } = JSON.parse(text);
  if (error) throw new Error(error);
  return value;
};
