"""A small load on the server at MANCALA_URL, and what has become of it after a restore.

load.py play STATE    plays games, alone against the computer and in twos, until STATE.stop exists; every acknowledged
                      move is a line of STATE.moves, and at the end STATE has the players and their games
load.py resume STATE MOVES
                      looks whether the server has every move of MOVES (a copy of STATE.moves), then plays the games
                      that were running to their end, with the tokens from before
"""

import json
import os
import random
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

URL = os.environ["MANCALA_URL"]
TABLES = 6


def call(method: str, path: str, token: str | None = None, body: object = None) -> tuple[int, Any]:
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as problem:
        return problem.code, json.loads(problem.read() or b"null")


def must(status: int, method: str, path: str, token: str | None = None, body: object = None) -> Any:
    found, answer = call(method, path, token, body)
    if found != status:
        raise RuntimeError(f"{method} {path} gave {found} instead of {status}: {answer}")
    return answer


class Table:
    """Players who play one game after the other; one of them alone plays against the computer."""

    def __init__(self, players: list[dict[str, str]], games: list[str] | None = None) -> None:
        self.players = players
        self.games = games or []

    @classmethod
    def new(cls, size: int) -> "Table":
        players = []
        for _ in range(size):
            made = must(201, "POST", "/v1/guests", body={})
            players.append({"id": made["player"]["id"], "token": made["access_token"]})
        return cls(players)

    def begin(self) -> None:
        first = self.players[0]["token"]
        if len(self.players) == 1:
            new = {"variant": "kalah", "computers": ["easy"]}
            game = must(201, "POST", "/v1/games", first, new)
        else:
            group = must(201, "POST", "/v1/groups", first, {"variant": random.choice(["kalah", "basic"])})
            for player in self.players[1:]:
                must(200, "POST", "/v1/groups/join", player["token"], {"code": group["code"]})
            game = must(201, "POST", f"/v1/groups/{group['id']}/games", first, {})
        self.games.append(game["id"])

    def step(self, name: str, acknowledged: Any) -> bool:
        """One move in a game of whoever has the turn; false when the game is over."""
        path = f"/v1/games/{name}"
        game = must(200, "GET", path, self.players[0]["token"])
        if game["status"] != "running":
            return False
        seat = game["seats"][game["to_move"]]
        mover = next((one for one in self.players if one["id"] == seat.get("player", {}).get("id")), None)
        if mover is None:
            must(200, "GET", f"{path}?after_seq={game['seq']}&wait=25", self.players[0]["token"])
            return True
        move = {"pit": random.choice(game["legal"]), "seq": game["seq"]}
        played = must(200, "POST", f"{path}/moves", mover["token"], move)
        acknowledged(name, played["accepted"]["seq"])
        return True


def play(state: Path) -> None:
    stop, lock, failures = Path(f"{state}.stop"), threading.Lock(), []
    tables = [Table.new(1 + number % 2) for number in range(TABLES)]
    with Path(f"{state}.moves").open("w") as moves:

        def acknowledged(game: str, seq: int) -> None:
            with lock:
                moves.write(f"{game} {seq}\n")
                moves.flush()

        def run(table: Table) -> None:
            try:
                while not stop.exists():
                    table.begin()
                    while not stop.exists() and table.step(table.games[-1], acknowledged):
                        time.sleep(0.02)
            except Exception as failure:  # The main thread tells it and fails.
                failures.append(failure)

        threads = [threading.Thread(target=run, args=(table,)) for table in tables]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]
    state.write_text(json.dumps([vars(table) for table in tables]))


def resume(state: Path, moves: Path) -> None:
    latest: dict[str, int] = {}
    for line in moves.read_text().splitlines():
        game, seq = line.split()
        latest[game] = max(latest.get(game, 0), int(seq))
    tables = [Table(**table) for table in json.loads(state.read_text())]
    anybody = tables[0].players[0]["token"]
    for game, seq in latest.items():
        found = must(200, "GET", f"/v1/games/{game}", anybody)["seq"]
        if found < seq:
            raise RuntimeError(f"game {game} has {found} of {seq} acknowledged events")
    played_on = 0
    for table in tables:
        for game in table.games:
            # The last ones may have been begun after the backup.
            if game in latest and table.step(game, lambda *_: None):
                played_on += 1
                while table.step(game, lambda *_: None):
                    pass
    if not played_on:
        raise RuntimeError("no game was being played when the backup was made")
    print(f"{sum(latest.values())} events in {len(latest)} games are there, {played_on} of them have been played on")


if sys.argv[1] == "play":
    play(Path(sys.argv[2]))
else:
    resume(Path(sys.argv[2]), Path(sys.argv[3]))
