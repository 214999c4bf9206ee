// Plays a whole game against the easy computer with openapi-fetch and the types that openapi-typescript generated.
import createClient from "openapi-fetch";
import { assert, ok } from "./calls.js";
import type { components, paths } from "./generated/mancala_client.d.ts";

type Game = components["schemas"]["Game"];

const baseUrl = process.env["MANCALA_URL"] ?? "http://127.0.0.1:8080";

const anybody = createClient<paths>({ baseUrl });
const signedIn = ok(await anybody.POST("/v1/guests", { body: { name: "Ana" } }));
assert(signedIn.token_type === "Bearer", "the token is a bearer token");
const api = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${signedIn.access_token}` } });

let game: Game = ok(
  await api.POST("/v1/games", {
    params: { header: { "Idempotency-Key": "one game" } },
    body: { variant: "kalah", computers: ["easy"], starter: "computer", options: { stones: 3 }, seed: 1 },
  }),
);
const id = game.id;
const mine = game.seats.find((seat) => seat.player?.id === signedIn.player.id)?.seat;
assert(mine === 0, "the caller has seat 0");

while (game.status === "running") {
  if (game.to_move === mine) {
    const pit = game.legal.at(-1);
    assert(pit !== undefined, "there is always a legal move");
    const played = ok(await api.POST("/v1/games/{id}/moves", { params: { path: { id } }, body: { pit, seq: game.seq } }));
    assert(played.accepted.pit === pit && played.accepted.by === "player", "it is this move that was accepted");
    game = played.game;
  } else {
    const query = { after_seq: game.seq, wait: 25 };
    game = ok(await api.GET("/v1/games/{id}", { params: { path: { id }, query } }));
  }
}
assert(game.status === "finished" && game.end_reason === "played", "the game was played to its end");

const late = await api.POST("/v1/games/{id}/moves", { params: { path: { id } }, body: { pit: 0, seq: game.seq } });
assert(late.error?.code === "game_over" && late.error.game?.id === id, "a move after the end is refused with the game");

const record = ok(await api.GET("/v1/games/{id}/record", { params: { path: { id } } }));
assert(typeof record !== "string", "a record is JSON unless text is asked for");
const replayed = ok(await anybody.POST("/v1/records/replay", { body: record }));
assert(replayed.over && replayed.stores.join() === game.seats.map((seat) => seat.store).join(), "the record replays");

console.log(`TypeScript: ${game.seq} events, stores ${replayed.stores.join(" to ")}`);
