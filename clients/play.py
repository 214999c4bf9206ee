"""Plays a whole game against the easy computer with the generated Python client, by its typed models alone."""

import os
from typing import TypeVar

from mancala_client.api.games import create_game, get_game, get_record
from mancala_client.api.identity import create_guest, refresh_session
from mancala_client.api.play import create_move, request_rematch
from mancala_client.api.positions import replay_record
from mancala_client.client import AuthenticatedClient, Client
from mancala_client.models import (
    By,
    Empty,
    EndReason,
    Game,
    GameStatus,
    Level,
    NewGame,
    NewGuest,
    NewMove,
    Options,
    PlayedMove,
    Problem,
    ProblemCode,
    Record,
    RefreshRequest,
    RematchAnswer,
    RematchStatus,
    Replayed,
    SignedIn,
    Starter,
    Tokens,
    Variant,
)

T = TypeVar("T")
URL = os.environ.get("MANCALA_URL", "http://127.0.0.1:8080")


def expect(kind: type[T], answer: object) -> T:
    """The answer, which has to be of this kind."""
    if not isinstance(answer, kind):
        raise TypeError(f"{kind.__name__} was expected, not {answer!r}")
    return answer


def main() -> None:
    anybody = Client(base_url=URL, raise_on_unexpected_status=True)
    guest = expect(SignedIn, create_guest.sync(client=anybody, body=NewGuest(name="Ana")))
    tokens = expect(
        Tokens, refresh_session.sync(client=anybody, body=RefreshRequest(refresh_token=guest.refresh_token))
    )
    api = AuthenticatedClient(base_url=URL, token=tokens.access_token, raise_on_unexpected_status=True)

    new = NewGame(
        variant=Variant.BASIC,
        computers=[Level.EASY, Level.EASY],
        starter=Starter.COMPUTER,
        options=Options(pits=4, stones=3),
        seed=1,
    )
    game = expect(Game, create_game.sync(client=api, body=new, idempotency_key="one game"))
    [mine] = [seat.seat for seat in game.seats if seat.player and seat.player.id == guest.player.id]
    assert mine == 0 and game.options.players == 3

    while game.status is GameStatus.RUNNING:
        if game.to_move == mine:
            pit = game.legal[-1]
            played = expect(
                PlayedMove, create_move.sync(game.id, client=api, body=NewMove(pit=pit, seq=game.seq))
            )
            assert played.accepted.pit == pit and played.accepted.by is By.PLAYER
            game = played.game
        else:
            game = expect(Game, get_game.sync(game.id, client=api, after_seq=game.seq, wait=25))
    assert game.status is GameStatus.FINISHED and game.end_reason is EndReason.PLAYED

    late = expect(Problem, create_move.sync(game.id, client=api, body=NewMove(pit=0, seq=game.seq)))
    assert late.code is ProblemCode.GAME_OVER and isinstance(late.game, Game) and late.game.id == game.id

    record = expect(Record, get_record.sync(game.id, client=api))
    replayed = expect(Replayed, replay_record.sync(client=anybody, body=record))
    assert replayed.over and replayed.stores == [seat.store for seat in game.seats]

    rematch = expect(RematchAnswer, request_rematch.sync(game.id, client=api, body=Empty()))
    assert rematch.status is RematchStatus.STARTED and rematch.game_id

    print(f"Python: {game.seq} events, places {' '.join(str(seat.place) for seat in game.seats)}")


main()
