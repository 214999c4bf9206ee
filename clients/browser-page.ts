// Plays two games in a browser, one of them in a private group, reads every kind of stream with EventSource meanwhile, and
// tells browser.ts, which serves this page and cuts the streams, whether each came whole.
import createClient from "openapi-fetch";
import { assert, ok } from "./calls.js";
import type { components, paths } from "./generated/mancala_client.d.ts";

type Schemas = components["schemas"];
type Tokens = Schemas["SignedIn"];

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function until(condition: () => boolean, what: string): Promise<void> {
  for (let turns = 0; !condition(); turns += 1) {
    assert(turns < 600, `waited for nothing: ${what}`);
    await sleep(50);
  }
}

const as = (who?: Tokens) =>
  createClient<paths>({ baseUrl: location.origin, headers: who ? { authorization: `Bearer ${who.access_token}` } : {} });
const guest = async (name: string) => ok(await as().POST("/v1/guests", { body: { name } }));

/** A stream and the messages that it brought. */
class Stream<Message> {
  readonly messages: Message[] = [];
  readonly ids: string[] = [];
  opened = 0;
  readonly source: EventSource;

  constructor(readonly path: string, token?: string) {
    this.source = new EventSource(token === undefined ? path : `${path}?stream_token=${token}`);
    this.source.onopen = () => (this.opened += 1);
    this.source.onmessage = (event) => {
      this.messages.push(JSON.parse(event.data));
      this.ids.push(event.lastEventId);
    };
  }

  static async of<Message>(who: Tokens, path: string): Promise<Stream<Message>> {
    const { token } = ok(await as(who).POST("/v1/me/stream-tokens", { body: { stream: path } }));
    return new Stream(path, token);
  }

  /** Its events with numbers are these, in order, each once. */
  isWhole(last: number): void {
    // Messages that are not of the log leave the number as it was.
    const numbered = this.ids.filter((_, at) => "seq" in (this.messages[at] as object));
    const expected = Array.from({ length: last }, (_, at) => String(at + 1));
    assert(numbered.join() === expected.join(), `${this.path} brought ${numbered} and not 1 to ${last}`);
    assert(this.opened >= 2, `${this.path} was opened ${this.opened} times only`);
  }
}

/** Plays a game to its end, slowly enough for its streams to be cut often. */
async function playOut(game: Schemas["Game"], people: Tokens[]): Promise<Schemas["Game"]> {
  const params = { path: { id: game.id } };
  while (game.status === "running") {
    const player = game.seats[game.to_move ?? 0]?.player?.id;
    const mover = people.find((person) => person.player.id === player);
    const pit = game.legal.at(-1);
    assert(mover !== undefined && pit !== undefined, "somebody has a move");
    game = ok(await as(mover).POST("/v1/games/{id}/moves", { params, body: { pit, seq: game.seq } })).game;
    await sleep(250);
  }
  return game;
}

async function run(): Promise<string[]> {
  const people = [await guest("Ana"), await guest("Ben")];
  const [ana, ben] = people as [Tokens, Tokens];
  const mine = await Stream.of<Schemas["MeMessage"]>(ana, "/v1/me/events");

  const hidden = ok(await as(ana).POST("/v1/groups", { body: { variant: "kalah", private: true } }));
  const path = { id: hidden.id };
  const group = await Stream.of<Schemas["GroupMessage"]>(ana, `/v1/groups/${hidden.id}/events`);
  ok(await as(ben).POST("/v1/groups/join", { body: { code: hidden.code } }));
  const begun = ok(await as(ana).POST("/v1/groups/{id}/games", { params: { path }, body: {} }));
  const gamePath = `/v1/games/${begun.id}/events`;
  const watched = await Stream.of<Schemas["GameMessage"]>(ben, gamePath);
  const refused = new Stream<Schemas["GameMessage"]>(gamePath);

  const open = ok(await as(ana).POST("/v1/groups", { body: { variant: "basic" } }));
  ok(await as(ben).POST("/v1/groups/join", { body: { code: open.code } }));
  const shown = ok(await as(ana).POST("/v1/groups/{id}/games", { params: { path: { id: open.id } }, body: {} }));
  const spectated = new Stream<Schemas["GameMessage"]>(`/v1/games/${shown.id}/events`);

  const ends = await Promise.all([playOut(begun, people), playOut(shown, people)]);
  for (const [stream, end] of [[watched, ends[0]], [spectated, ends[1]]] as const) {
    // The browser comes back once more, and is told that there is nothing left.
    await until(() => stream.source.readyState === EventSource.CLOSED, `the end of ${stream.path}`);
    stream.isWhole(end.seq);
    const last = stream.messages.findLast((message) => "position" in message);
    const stores = last && "position" in last ? last.position.stores : [];
    assert(stores.join() === end.seats.map((seat) => seat.store).join(), `${stream.path} ends elsewhere`);
  }

  const { seq } = ok(await as(ana).GET("/v1/groups/{id}", { params: { path } }));
  await until(() => group.ids.at(-1) === String(seq), "the last event of the group");
  group.isWhole(seq);

  // From the snapshots and what came after each, the caller knows what runs.
  const running = () => {
    const from = mine.messages.findLastIndex((message) => message.type === "snapshot");
    const known = new Set<string>();
    for (const message of mine.messages.slice(from)) {
      if (message.type === "snapshot") message.games.forEach((game) => known.add(game.game_id));
      if (message.type === "game_started") known.add(message.game_id);
      if (message.type === "game_ended") known.delete(message.game_id);
    }
    return known.size;
  };
  await until(() => running() === 0, "the end of both games");
  const seen = new Set(mine.messages.flatMap((message) => {
    if (message.type === "snapshot") return message.games.map((game) => game.game_id);
    return "game_id" in message ? [message.game_id] : [];
  }));
  assert(seen.has(begun.id) && seen.has(shown.id), `${mine.path} told of other games`);
  assert(mine.messages.some((message) => message.type === "your_turn"), "nobody was told whose turn it is");
  assert(mine.messages[0]?.type === "snapshot", "a snapshot comes first");
  assert(mine.messages.filter((message) => message.type === "snapshot").length === mine.opened, "one for each opening");
  assert(mine.opened >= 2, `${mine.path} was opened ${mine.opened} times only`);

  assert(refused.source.readyState === EventSource.CLOSED && refused.opened === 0, "a private game is hidden");
  const streams = [watched, spectated, group, mine];
  streams.forEach((stream) => stream.source.close());
  return streams.map((stream) => `${stream.path}: ${stream.messages.length} messages, opened ${stream.opened} times`);
}

const verdict = await run().then(
  (streams) => ({ streams }),
  (error: unknown) => ({ error: String(error) }),
);
await fetch("/verdict", { method: "POST", body: JSON.stringify(verdict) });
