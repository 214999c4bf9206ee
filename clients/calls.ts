// What both clients do with answers.
import type { components } from "./generated/mancala_client.d.ts";

/** The answer of a call that has to succeed. */
export function ok<T>(answer: { data?: T; error?: components["schemas"]["Problem"]; response: Response }): T {
  if (answer.data === undefined) {
    throw new Error(`${answer.response.url}: ${answer.response.status} ${answer.error?.code}: ${answer.error?.detail}`);
  }
  return answer.data;
}

export function assert(condition: boolean, otherwise: string): asserts condition {
  if (!condition) {
    throw new Error(otherwise);
  }
}
