//! What players are told about the games and their local rules, in English, Brazilian Portuguese and Spanish.
//!
//! Served by `GET /v1/variants`. The rules themselves are in `docs/rules.md`; nothing here decides anything.

/// One text in the three languages of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    /// English.
    pub en: &'static str,
    /// Brazilian Portuguese.
    pub pt: &'static str,
    /// Spanish.
    pub es: &'static str,
}

/// The texts of one game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariantTexts {
    /// Its name.
    pub name: Text,
    /// One line that says what it is.
    pub summary: Text,
    /// The rules in brief, in the order in which one needs them.
    pub how_to_play: &'static [Text],
    /// Advice and background, each to be shown alone.
    pub tips: &'static [Text],
}

/// The texts of one option, or of one value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionTexts {
    /// The option's field (`capture_from`), or for a value what it belongs to and the value (`capture_from.next`).
    pub key: &'static str,
    /// A label.
    pub name: Text,
    /// One or two sentences.
    pub description: Text,
}

const fn text(en: &'static str, pt: &'static str, es: &'static str) -> Text {
    Text { en, pt, es }
}

/// Kalah.
pub const KALAH: VariantTexts = VariantTexts {
    name: text("Kalah", "Kalah", "Kalah"),
    summary: text(
        "Sow, capture and fill your store: a game of about 10 minutes for 2 to 4 players.",
        "Semeie, capture e encha a sua base: uma partida de uns 10 minutos, de 2 a 4 participantes.",
        "Sembrar, capturar y llenar el almacén: una partida de unos 10 minutos, de 2 a 4 participantes.",
    ),
    how_to_play: &[
        text(
            "On your turn, empty one of your pits and drop its stones anticlockwise, one into each pit that follows.",
            "Na sua vez, esvazie um dos seus buracos e solte uma pedra em cada um dos seguintes, no sentido anti-horário.",
            "En cada turno se vacía un hoyo propio y se deja una piedra en cada uno de los siguientes, en sentido antihorario.",
        ),
        text(
            "Your own store gets a stone as you pass it, the other stores get none. After a full lap the pit you emptied gets one too.",
            "A sua base ganha uma pedra quando você passa por ela; as alheias, nenhuma. Depois de uma volta inteira, o buraco de partida também ganha a sua.",
            "El almacén propio recibe una piedra al pasar; los ajenos, ninguna. Tras una vuelta entera también la recibe el hoyo de salida.",
        ),
        text(
            "End exactly in your own store and you must sow again, as often as it happens.",
            "Terminar exatamente na própria base obriga a semear mais uma vez, sempre que acontecer.",
            "Acabar justo en el almacén propio obliga a sembrar una vez más, cuantas veces ocurra.",
        ),
        text(
            "End in a pit of yours that was empty, with stones in the corresponding pit (for two players, the one across), and you put those and your last stone in your store.",
            "Terminar em um buraco próprio que estava vazio dá direito a uma captura se houver pedras no correspondente (com duas pessoas, o da frente): elas e a última vão para a sua base.",
            "Acabar en un hoyo propio que estaba vacío da derecho a una captura si hay piedras en el correspondiente (con dos personas, el de enfrente): esas y la última van al almacén propio.",
        ),
        text(
            "The game is over as soon as any side is empty. All collect what lies on their own side; the fullest store wins, and equal stores share a place.",
            "Assim que um lado qualquer se esvazia, a partida acaba. Cada pessoa recolhe o que está no seu; a base mais cheia vence, e bases iguais dão a mesma posição.",
            "En cuanto un lado cualquiera se vacía, se acaba la partida. Cada persona recoge lo que hay en el suyo; gana el almacén más lleno, y almacenes iguales dan el mismo puesto.",
        ),
    ],
    tips: &[
        text(
            "Count the steps: a pit with as many stones as it has steps to your store earns an extra sowing. Three stones in your third pit from the right do it.",
            "Conte os passos: um buraco com tantas pedras quantos passos o separam da sua base rende uma jogada extra. É o caso de três pedras no terceiro buraco da direita para a esquerda.",
            "Conviene contar los pasos: un hoyo con tantas piedras como pasos lo separan del almacén da un turno extra. Así ocurre con tres piedras en el tercer hoyo contando desde la derecha.",
        ),
        text(
            "With several extra sowings at hand, begin with the rightmost: the others stay as they are.",
            "Com várias jogadas extras à disposição, comece pela mais à direita: as outras continuam intactas.",
            "Con varios turnos extra a mano, lo mejor es empezar por el de más a la derecha: los demás quedan intactos.",
        ),
        text(
            "An empty pit opposite a full one is a threat. Build such threats, and look for those against you.",
            "Um buraco vazio diante de um cheio é uma ameaça. Prepare as suas e repare nas que apontam para o seu lado.",
            "Un hoyo vacío frente a uno lleno es una amenaza. Hay que preparar las propias y vigilar las ajenas.",
        ),
        text(
            "For two players with three to six stones, whoever starts can always win by playing perfectly. Against the computer you choose who starts.",
            "Entre duas pessoas, com três a seis pedras por buraco, quem faz a primeira jogada pode sempre vencer se não errar nunca. Contra o computador, a escolha é sua.",
            "Entre dos personas, con tres a seis piedras por hoyo, quien hace la primera jugada puede ganar siempre si no falla nunca. Contra la computadora se puede elegir quién empieza.",
        ),
        text(
            "Some play with three stones in each pit, some with four or six: the more stones, the longer the game.",
            "Há quem jogue com três pedras em cada buraco, com quatro ou com seis: quanto mais pedras, mais longa a partida.",
            "Hay quien juega con tres piedras en cada hoyo, con cuatro o con seis: cuantas más piedras, más larga la partida.",
        ),
        text(
            "A common house rule lets the last stone go to your store even when there is nothing to capture with it.",
            "Uma regra caseira difundida manda a última pedra para a base mesmo que não haja nada a capturar com ela.",
            "Una regla casera extendida lleva la última piedra al almacén aunque no haya nada que capturar con ella.",
        ),
        text(
            "Kalah is a modern branch of an old family: William Julius Champion patented it in the United States in the 1950s.",
            "O Kalah é um ramo moderno de uma família antiga: William Julius Champion o patenteou nos Estados Unidos na década de 1950.",
            "El Kalah es una rama moderna de una familia antigua: William Julius Champion lo patentó en Estados Unidos en la década de 1950.",
        ),
        text(
            "Its West African relative Oware leaves the stores out of the sowing, and its captures come from bringing an opponent's pit to two or three with the last stone.",
            "No Oware, parente da África Ocidental, as bases ficam fora da semeadura, e captura quem completa duas ou três pedras em um buraco adversário com a última.",
            "En el Oware, pariente de África Occidental, los almacenes quedan fuera de la siembra, y captura quien con la última piedra completa dos o tres en un hoyo rival.",
        ),
    ],
};

/// Basic Mancala.
pub const BASIC: VariantTexts = VariantTexts {
    name: text("Basic Mancala", "Mancala Básico", "Mancala Básico"),
    summary: text(
        "Empty your side before the others do, without captures: a game of about 10 minutes for 2 to 4 players.",
        "Deixe o seu lado sem pedras antes do resto da mesa, sem capturas: uns 10 minutos, de 2 a 4 participantes.",
        "Dejar el lado propio sin piedras antes que el resto, sin capturas: unos 10 minutos, de 2 a 4 participantes.",
    ),
    how_to_play: &[
        text(
            "On your turn, empty one of your pits and drop its stones anticlockwise, one into each pit and each store that follows.",
            "Na sua vez, esvazie um dos seus buracos e solte uma pedra em cada buraco e em cada base que vier depois, no sentido anti-horário.",
            "En cada turno se vacía un hoyo propio y se deja una piedra en cada hoyo y en cada almacén que sigue, en sentido antihorario.",
        ),
        text(
            "All stores are fed, your own and the others'. A stone in a store is out of play. After a full lap the pit you emptied gets a stone too.",
            "Todas as bases recebem, a sua e as alheias. Pedra em base está fora de jogo. Depois de uma volta inteira, o buraco de partida também ganha uma.",
            "Todos los almacenes reciben, el propio y los ajenos. Una piedra en un almacén queda fuera de juego. Tras una vuelta entera también recibe una el hoyo de salida.",
        ),
        text(
            "End in any store and you must sow again.",
            "Terminar em uma base, seja qual for, obriga a semear mais uma vez.",
            "Acabar en un almacén, sea cual sea, obliga a sembrar una vez más.",
        ),
        text(
            "You have finished when your own sowing leaves your side empty. Between two players that wins the game.",
            "Você conclui quando a sua própria semeadura deixa o seu lado vazio. Entre duas pessoas, isso vence a partida.",
            "Termina quien, con su propia siembra, deja vacío su lado. Entre dos personas, eso gana la partida.",
        ),
        text(
            "With three or four players, whoever finishes takes the next place and leaves the board while the others go on. Without full ranking the game stops at the first to finish, and fewer stones on one's side mean a better place.",
            "Com três ou quatro participantes, quem conclui ocupa a próxima posição e sai do tabuleiro, e o resto continua. Sem a classificação completa, a partida acaba assim que alguém conclui, e menos pedras no lado valem uma posição melhor.",
            "Con tres o cuatro participantes, quien termina ocupa el siguiente puesto y sale del tablero, y el resto continúa. Sin la clasificación completa, la partida se detiene cuando alguien termina, y menos piedras en el lado valen un puesto mejor.",
        ),
    ],
    tips: &[
        text(
            "Prefer sowings that cross many stores: each store takes a stone off your hands.",
            "Prefira semeaduras que cruzem muitas bases: cada uma livra você de uma pedra.",
            "Convienen las siembras que cruzan muchos almacenes: cada uno quita una piedra de en medio.",
        ),
        text(
            "Keep pits with few stones beside your store: they are ready-made extra sowings.",
            "Guarde buracos com poucas pedras ao lado da sua base: são jogadas extras prontas.",
            "Vale la pena guardar hoyos con pocas piedras junto al almacén: son turnos extra listos para usar.",
        ),
        text(
            "Choose fewer stones for a quicker game: three in each pit, for instance, instead of four.",
            "Para uma partida mais rápida, comece com menos pedras: três em cada buraco, por exemplo, em vez de quatro.",
            "Para una partida más rápida basta empezar con menos piedras: tres en cada hoyo, por ejemplo, en vez de cuatro.",
        ),
        text(
            "This game was made popular by Japan's Recreation Association.",
            "Este jogo se popularizou graças à Associação Japonesa de Recreação.",
            "Este juego se popularizó gracias a la Asociación Japonesa de Recreación.",
        ),
    ],
};

/// The local rules, in the order in which a form would show them.
pub const OPTIONS: &[OptionTexts] = &[
    OptionTexts {
        key: "players",
        name: text("Players", "Participantes", "Participantes"),
        description: text(
            "How many take part, from 2 to 4. In a group it is the number of members.",
            "Quantas pessoas jogam, de 2 a 4. Em um grupo, é o número de integrantes.",
            "Cuántas personas juegan, de 2 a 4. En un grupo, es el número de integrantes.",
        ),
    },
    OptionTexts {
        key: "pits",
        name: text("Pits per side", "Buracos por lado", "Hoyos por lado"),
        description: text(
            "6 or 7 for two players, 6 or 4 for three or four. A value meant for another number of players becomes 6.",
            "6 ou 7 com duas pessoas; 6 ou 4 com três ou quatro. Um valor próprio de outro número de participantes passa a ser 6.",
            "6 o 7 con dos personas; 6 o 4 con tres o cuatro. Un valor propio de otro número de participantes pasa a ser 6.",
        ),
    },
    OptionTexts {
        key: "stones",
        name: text("Stones per pit", "Pedras por buraco", "Piedras por hoyo"),
        description: text(
            "How many stones lie in each pit at the start, from 3 to 6. More stones make a longer game.",
            "Quantas pedras há em cada buraco no começo, de 3 a 6. Quanto mais pedras, mais longa a partida.",
            "Cuántas piedras hay en cada hoyo al comienzo, de 3 a 6. Cuantas más piedras, más larga la partida.",
        ),
    },
    OptionTexts {
        key: "capture_from",
        name: text("Capture from", "Capturar de", "Capturar de"),
        description: text(
            "Whose corresponding pit a capture empties. It matters in Kalah with three or four players.",
            "De quem é o buraco correspondente que a captura esvazia. Faz diferença no Kalah com três ou quatro pessoas.",
            "De quién es el hoyo correspondiente que la captura vacía. Importa en el Kalah con tres o cuatro personas.",
        ),
    },
    OptionTexts {
        key: "capture_empty",
        name: text("Capture without a counterpart", "Captura sem contrapartida", "Captura sin contrapartida"),
        description: text(
            "In Kalah, a last stone in an empty pit of one's own goes to the store even when the corresponding pit is empty. Never in ranked games.",
            "No Kalah, a última pedra em um buraco próprio vazio vai para a base ainda que o correspondente não tenha nada. Nunca vale em partidas ranqueadas.",
            "En el Kalah, la última piedra en un hoyo propio vacío va al almacén aun si el correspondiente no tiene nada. Nunca rige en partidas clasificatorias.",
        ),
    },
    OptionTexts {
        key: "full_ranking",
        name: text("Full ranking", "Classificação completa", "Clasificación completa"),
        description: text(
            "In Basic Mancala with three or four players: on, play goes on for every place; off, it ends with the first to finish.",
            "No Mancala Básico com três ou quatro pessoas: com ela, joga-se por todas as posições; sem ela, a partida acaba assim que alguém conclui.",
            "En el Mancala Básico con tres o cuatro personas: con ella, se juega por todos los puestos; sin ella, la partida acaba cuando alguien termina.",
        ),
    },
    OptionTexts {
        key: "rotate_starter",
        name: text("Rotate the first move", "Revezar a primeira jogada", "Rotar la primera jugada"),
        description: text(
            "The group's next game starts with the next seat. Switched off, the starting seat never changes.",
            "A próxima partida do grupo começa pelo lugar seguinte; sem isso, outra vez pelo mesmo.",
            "La siguiente partida del grupo empieza por el asiento siguiente; sin esto, otra vez por el mismo.",
        ),
    },
    OptionTexts {
        key: "turn_seconds",
        name: text("Time per turn", "Tempo por jogada", "Tiempo por jugada"),
        description: text(
            "Seconds for each sowing: 30, 60 or no limit. Ranked games need a limit.",
            "Segundos para cada semeadura: 30, 60 ou sem limite. Partidas ranqueadas exigem um limite.",
            "Segundos para cada siembra: 30, 60 o sin límite. Las partidas clasificatorias exigen un límite.",
        ),
    },
    OptionTexts {
        key: "away_seconds",
        name: text("Patience", "Paciência", "Paciencia"),
        description: text(
            "Without a time limit: after how many silent seconds on their turn the computer stands in for somebody. They can come back at any time.",
            "Sem limite de tempo: depois de quantos segundos de silêncio na sua vez o computador substitui alguém. É possível voltar a qualquer momento.",
            "Sin límite de tiempo: tras cuántos segundos de silencio en su turno la computadora sustituye a alguien. Se puede volver en cualquier momento.",
        ),
    },
    OptionTexts {
        key: "stand_in",
        name: text("Stand-in", "Substituição", "Sustitución"),
        description: text(
            "How well the computer plays for a seat whose player left or resigned. In ranked games it is always easy.",
            "O nível do computador em um lugar deixado por abandono ou desistência. Em partidas ranqueadas é sempre fácil.",
            "El nivel de la computadora en un asiento que quedó libre por ausencia o rendición. En partidas clasificatorias es siempre fácil.",
        ),
    },
];

/// The values of `capture_from`, and the levels of computer players (`level.easy` …).
pub const VALUES: &[OptionTexts] = &[
    OptionTexts {
        key: "capture_from.next",
        name: text("Next player", "Quem joga em seguida", "Quien juega a continuación"),
        description: text(
            "From the seat that follows in turn order.",
            "Do lugar que vem depois na ordem das jogadas.",
            "Del asiento que sigue en el orden de juego.",
        ),
    },
    OptionTexts {
        key: "capture_from.opposite",
        name: text("Opposite player", "Quem está do outro lado", "Quien está al otro lado"),
        description: text(
            "From the seat across the board. With three players nobody sits there, and it is the next seat.",
            "Do lugar do outro lado do tabuleiro. Com três pessoas ele não existe, e vale o lugar seguinte.",
            "Del asiento al otro lado del tablero. Con tres personas no existe, y vale el asiento siguiente.",
        ),
    },
    OptionTexts {
        key: "capture_from.all",
        name: text("Everybody else", "Toda a mesa", "Toda la mesa"),
        description: text(
            "From all other seats at once: captures are larger, and leads change hands more often.",
            "De todos os outros lugares ao mesmo tempo: as capturas crescem e a liderança muda mais.",
            "De todos los demás asientos a la vez: las capturas crecen y la ventaja cambia más.",
        ),
    },
    OptionTexts {
        key: "level.easy",
        name: text("Easy", "Fácil", "Fácil"),
        description: text(
            "Looks at its own move only, and quite often picks at random.",
            "Só enxerga a própria jogada e, com certa frequência, escolhe por sorteio.",
            "Solo ve su propia jugada y, con cierta frecuencia, elige al azar.",
        ),
    },
    OptionTexts {
        key: "level.medium",
        name: text("Medium", "Médio", "Medio"),
        description: text(
            "Thinks five turns ahead and plays every chain of extra sowings through in its head.",
            "Pensa cinco jogadas adiante e percorre por inteiro cada sequência de jogadas extras.",
            "Piensa cinco jugadas por delante y recorre entera cada cadena de turnos extra.",
        ),
    },
    OptionTexts {
        key: "level.hard",
        name: text("Hard", "Difícil", "Difícil"),
        description: text(
            "Searches up to 14 turns ahead, or to the certain end, in about 0.7 seconds.",
            "Procura até 14 jogadas adiante, ou até o fim certo, em cerca de 0,7 segundo.",
            "Busca hasta 14 jugadas por delante, o hasta el final seguro, en unos 0,7 segundos.",
        ),
    },
    OptionTexts {
        key: "level.perfect",
        name: text("Perfect", "Perfeito", "Perfecto"),
        description: text(
            "Never throws away a won or drawn game of two-player Kalah. Elsewhere it plays like the hard level.",
            "No Kalah de duas pessoas, nunca desperdiça uma vitória nem um empate. Nos outros casos joga como o difícil.",
            "En el Kalah de dos personas, nunca desperdicia una victoria ni un empate. En los demás casos juega como el difícil.",
        ),
    },
];

/// Why a move is good, by the code of a hint's reason. `{stones}`, `{seat}`, `{pit}`, `{margin}` and `{depth}` stand for
/// the numbers that come with it.
pub const HINTS: &[(&str, Text)] = &[
    (
        "only_move",
        text("It is the only possible move.", "É a única jogada possível.", "Es la única jugada posible."),
    ),
    ("ends_game", text("It ends the game.", "Termina a partida.", "Termina la partida.")),
    (
        "leaves_board",
        text(
            "It empties your side: you take the next place.",
            "Esvazia o seu lado: a próxima posição é sua.",
            "Vacía el lado propio y asegura el siguiente puesto.",
        ),
    ),
    ("extra_sowing", text("It earns another sowing.", "Rende uma jogada extra.", "Da un turno extra.")),
    (
        "capture",
        text(
            "It captures from pit {pit} of seat {seat}. Stones: {stones}.",
            "Captura do buraco {pit} do lugar {seat}. Pedras: {stones}.",
            "Captura del hoyo {pit} del asiento {seat}. Piedras: {stones}.",
        ),
    ),
    (
        "protects",
        text(
            "It keeps what lies in your pit {pit} from being captured. Stones: {stones}.",
            "Evita a captura do que está no seu buraco {pit}. Pedras: {stones}.",
            "Evita la captura de lo que hay en el hoyo propio {pit}. Piedras: {stones}.",
        ),
    ),
    (
        "prepares_extra",
        text(
            "It prepares an extra sowing from your pit {pit}.",
            "Prepara uma jogada extra com o seu buraco {pit}.",
            "Prepara un turno extra con el hoyo propio {pit}.",
        ),
    ),
    (
        "keeps_exact_result",
        text(
            "No move is better: with best play it comes to a margin of {margin}.",
            "Nenhuma jogada é melhor: jogando-se o melhor possível, a diferença final é de {margin}.",
            "Ninguna jugada es mejor: con el mejor juego, la diferencia final es de {margin}.",
        ),
    ),
    (
        "best_by_search",
        text(
            "It is the best move found. Turns looked ahead: {depth}.",
            "É a melhor jogada encontrada. Jogadas examinadas adiante: {depth}.",
            "Es la mejor jugada encontrada. Jugadas examinadas por delante: {depth}.",
        ),
    ),
    (
        "plays_at_level",
        text(
            "It is simply what this level plays.",
            "É simplesmente o que este nível joga.",
            "Es sencillamente lo que juega este nivel.",
        ),
    ),
];
