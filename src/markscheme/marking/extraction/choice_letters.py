r"""The letter that a response chooses: `(B)`, `B.`, `Choice_B`, "the closest option is (I)", 故选B, up to ten letters.

Asked only where the gold is a letter. Announcements are one table; the last one in the response wins, and only without
any is a line that opens with a letter taken for the choice.
"""

from __future__ import annotations

import re
from typing import Final

from markscheme.marking.extraction.extracted import ExtractedAnswer

_LETTER: Final = r"(?P<letter>[A-Ja-j])(?![A-Za-z0-9'’]|\^|\s?(?:[=+/→]|->|\*(?!\*)))"
_OPEN: Final = r"(?>(?:[\s*_$({\[（【《「\"'“`:：]|\\text(?:bf|rm|it)?\{|\\mathbf\{|\\mathrm\{|\\boxed\{|\\\(){0,8})"
_CAPITAL: Final = (
    r"(?P<letter>[A-J])(?:(?![A-Za-z0-9'’]|\^|\?\s|\s?(?:[=+/→]|->|\*(?!\*)))|(?=[A-J]{1,4}(?![A-Za-z0-9])))"
)
_NOUN: Final = r"(?:answers?|options?|choices?|selection|alternatives?|statements?|respuestas?|réponse|Antwort|opción|ответ|вариант|jibu(?:\ssahihi)?)"

_ANNOUNCEMENTS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        # "The answer is (B)", "correct option: **B. 12**", "The closest option is (I)": simple-evals', MMLU-Pro's prompts.
        rf"(?i:{_NOUN})(?:\sletter)?(?:\s(?i:to|for|among|from|that|which|here|of|matches|closest)[^.:\n]{{1,80}}?)?(?:\s(?:correcta|correcte|correta|finale?|final))?\s{{0,2}}+[*_]{{0,3}}+\s?"
        rf"(?:(?i:is|are|be|would\sbe|should\sbe|must\sbe|will\sbe|has\sto\sbe|remains|seems\sto\sbe|appears\sto\sbe|es|est|ist|ni)\b|[:：=-])"
        rf"\s?(?:(?i:therefore|thus|clearly|likely|probably|most\slikely|definitely|then|the|option|choice|answer|letter|alternative|number|la|le|die|opción|opção|letra|lettre)\s){{0,4}}{_OPEN}{_CAPITAL}",
        # "Option B is correct", "(B) is the right answer", "choice B fits best".
        rf"(?:(?i:option|choice|answer|alternative)\s{{0,2}}+)?{_OPEN}{_CAPITAL}[\s)\]}}*_.:]{{0,6}}+(?:(?:(?!,\sbut\s|\snot\s|[(\[][A-J][)\]])[^.\n]){{0,60}}?\s)?(?i:is|would\sbe|seems|must\sbe|fits|as)\s(?:(?i:the|our|therefore|thus|also|most|likely|probably|indeed|only|logical|accurate|appropriate|suitable|reasonable)\s){{0,3}}"
        rf"(?i:correct|right|best|closest|answer|true|solution)\b(?!\s(?i:if|when|only))",
        # "Options (B) and (C) are correct": the last of them, the others are listed before it.
        rf"[(\[]{_CAPITAL}[)\]]\s(?i:are)\s(?:(?i:the|both|all|therefore)\s){{0,2}}(?i:correct|right|true)\b(?!\s(?i:or|if|when|only))",
        # "making **B** the correct answer", "which makes (C) 12 the best choice".
        rf"(?i:\bmak(?:ing|es))\s(?:(?i:option|choice|answer)\s)?{_OPEN}{_CAPITAL}(?=[\s*_).:\]])[^\n]{{0,120}}?\s(?i:the|our)\s(?:[a-z]{{1,20}}\s){{0,3}}(?i:answer|choice|option)\b",
        # "The correct answer, **D. a tree**, shows …"
        rf"(?i:\b(?:correct|right|best|final)\s(?:answer|option|choice)),\s{_OPEN}{_CAPITAL}(?=[\s*_)\]]{{0,3}}[.:)*])",
        # "I choose C", "select option D", "we pick (A)", "mark B".
        rf"(?i:\b(?:choose|select|pick|chose|selected|go(?:ing)?\swith|goes?\sfor|corresponds?\sto|matches|mark))\s[*_]{{0,2}}(?:(?i:the|option|choice|answer|letter|with)\s){{0,3}}{_OPEN}{_CAPITAL}",
        # "What is the answer? B) 12", "Answer the question - B) 12."
        rf"(?i:\banswer)\s[^.\n]{{0,60}}(?:\?|\s-)\s{_OPEN}{_CAPITAL}(?=[).:])",
        # `Choice_B`, `Choice\_B`, `Option_C`, `choice: d`, `Seçenek: D`: how instruction-tuned models name the field.
        rf"(?i:\b(?:choice|option|answer|seçenek|cevap|svar|opción|opção|resposta|respuesta|risposta|odpowiedź|вариант|ответ)|정답)(?:[_ ]?[:：_]|\\_)\s?{_OPEN}{_LETTER}",
        # "Solution: Choice D", "Therefore, the solution is option (D).": MR-Ben's prompts.
        rf"(?i:\bsolution)(?:\s(?i:is)|[:：])\s(?:(?i:the)\s)?(?i:choice|option|answer)\s{_OPEN}{_CAPITAL}",
        # "Choice (D)." as a sentence of its own, behind the value.
        rf"(?<=[.!?$]\s)(?i:choice|option|answer)\s{_OPEN}{_CAPITAL}(?=[)\]}}$*_]{{0,6}}\.(?:\s|\Z))",
        # 故选B, 答案是B, 【答案】 B, 应选 (C): how Chinese solutions end; GAOKAO-Bench, C-Eval, CMATH.
        rf"(?:(?:故选|应选|所以选|因此选|选择|选)(?!项)|(?<!不是)(?<=[是为应合即])选项|答案(?:选项)?|正确选项|正确答案|最终答案|选项(?=[是为：:])|应该是(?=[：:]))(?>(?:可能|应该|应|就|选项|选|项|[是为：:】\]\s>=]){{0,6}}){_OPEN}{_CAPITAL}",
        # 最適な選択肢はCです, 答えはAとなります.
        rf"(?:答え|回答|解答|正解|[ないる]選択肢)は[、\s]{{0,4}}{_OPEN}{_CAPITAL}(?!から|では|[〜～])",
        # "C ist die korrekte Antwort", "Option B est donc la bonne réponse".
        rf"{_OPEN}{_CAPITAL}[\s)\]}}*_.:]{{1,6}}(?:ist|est|es)\s(?:(?:somit|daher|also|donc|por|tanto|entonces)\s){{0,2}}(?:die|la)\s"
        rf"(?:(?:richtige|korrekte|beste|bonne|mejor|meilleure)\s)?(?:Antwort|réponse|respuesta)\b",
        # "C입니다.", "Cです。"
        rf"(?:\A|\n)[\s*_]{{0,4}}{_CAPITAL}(?=입니다|です)",
        # "D。任何数…", "D解析：…": a Chinese response that opens with its letter.
        rf"\A\s{{0,4}}{_CAPITAL}(?=(?:\s{{0,4}}|。|．)[【（(]?(?:题目)?解[析释]|。)",
    )
)
_IS_CORRECT: Final = _ANNOUNCEMENTS[1]
_CORRECT: Final = re.compile(r"(?i:correct|right|best|closest|answer|true|solution)\b")
"""One of these is part of the second announcement, the one that costs most on a text of many letters."""
_REMARKS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        # "This leaves us with option A", "more consistent with option B", "the only option C".
        rf"(?i:\b(?:leav(?:es|ing)(?:\sus)?\swith|making|points?\sto|consistent\swith|closest\sto|only)\s[*_]{{0,2}}(?:the\s)?(?:option|choice|answer)\s){_OPEN}{_CAPITAL}",
        # "Option C is the most logical choice", "Option D provides the most direct route".
        rf"(?i:\b(?:option|choice|answer))\s{_OPEN}{_CAPITAL}(?:[\s)\]}}*_.:]{{0,6}}(?:[^.\n]{{0,60}}?\s)?)(?i:is|provides|offers|gives|seems|represents|remains)\s(?i:the\s)?"
        rf"(?i:most|only)\s(?i:logical|likely|plausible|probable|suitable|accurate|appropriate|direct|reasonable|consistent|correct|valid|viable|possible)\b(?!\s(?i:wrong|incorrect|mistake|error|trap|distractor))",
        # "The likely compound is:" and the choice on the next line.
        rf"(?:\b(?:is|be|are|est|ist|es|sont|son|sind|ni)|[是为])\s?[*_]{{0,2}}[:：][*_ ]{{0,3}}\n{{1,3}}[*_> ]{{0,4}}(?:(?i:option|choice)\s)?[(\[]?{_CAPITAL}(?=[)\].:])",
        # "It best agrees with **A**, as …", "She would be concerned with **C. the weak points**."
        rf"(?:(?<=[a-z]\s)|(?<=[\u3040-\u30ff\u4e00-\u9fff]))\*\*[(\[]?{_CAPITAL}[)\]]?(?=(?:[.:)]\s[^*\n]{{1,200}})?\*\*(?!\s(?:is|are|and|or|was|has|does)\b))",
        # 选项D正确, D选项是正确的, (B) 正确.
        rf"(?:选项|答案)?\s?{_OPEN}{_CAPITAL}[\s)）】\]*]{{0,4}}+(?:[（(][^()（）\n]{{1,40}}[)）]\s?|[.、．]\s?[^\n。，]{{1,40}}?)?(?:选?项|答案)?(?:的说法|的描述|的叙述)?(?:是|为)?\s?(?:最)?(?:正确|对的|符合题意)",
        # 错误的叙述是C选项: what a question asked for that looks for what is wrong.
        rf"(?:错误|不正确|不符合[^\n。]{{0,8}}|正确|有误)的(?:叙述|说法|选项|描述|判断|一项)?(?:是|为)\s?(?:选项)?\s?{_OPEN}{_CAPITAL}(?=\s?(?:选?项)?[)）\]】*_}}$]{{0,4}}(?:[。.、．]|\s{{0,4}}\Z))",
        # 即**A. ①③**, 所有真命题的编号是$\text{{A. ①③}}$: at the end, with what stands behind the letter.
        rf"[是为即]\s?{_OPEN}{_CAPITAL}(?=[.、．]\s?[^\n。]{{1,60}}[。]?\s{{0,4}}\Z)",
        # বিকল্প B সঠিক উত্তর, jibu … ni C, A resposta correta é a letra B: a word for option or answer, and the letter in its sentence.
        rf"(?:বিকল্প|উত্তর|विकल्प|उत्तर|ตัวเลือก|คำตอบ|ఎంపిక|సమాధానం|الخيار|الإجابة|정답|선택지|보기|вариант|ответ|選択肢|\b[Jj]ibu\b|\b[Jj]awabu\b|\bresposta\b|\brespuesta\b|\bréponse\b|\bletra\b)"
        rf"[^\n.。।A-Za-z\d]{{0,12}}+(?:[^\n.。।\d]{{0,60}}?\s(?:ni|é|es|est|a|la|letra|que|est\sla|est\s:)\s)?{_OPEN}{_CAPITAL}(?=[\s)）\].。।*,:]|\Z)(?!\s?(?:गलत|ভুল|خاطئ|ผิด|틀|は誤|,\ssino))",
        # (C বিকল্পটি): the letter before the word.
        rf"(?<![A-Za-z]){_CAPITAL}\s?(?:বিকল্প|विकल्प|選択肢)",
        # 选项A准确地描述了 …, 选项B最符合 …
        rf"选项\s?{_OPEN}{_CAPITAL}[\s)）*]{{0,4}}(?:准确|最|符合|直接|恰好|击中)",
        # "…, which leaves B." at the end of its sentence.
        rf"\b(?:which|[Tt]his|[Tt]hat)\sleaves\s(?:us\swith\s|only\s)?(?:(?i:option|choice|answer)\s)?{_OPEN}{_CAPITAL}(?=[)\]*_]{{0,3}}\s{{0,2}}(?:\.|\Z))",
        # "So it has to be B) 24.", "B is the one that fits."
        rf"\b(?:[Ii]t|[Tt]his|[Tt]hat)\s(?:must\sbe|has\sto\sbe)\s[*_(\[]{{0,3}}{_CAPITAL}(?=[)\].:])",
        rf"{_OPEN}{_CAPITAL}[\s)\]*_.]{{1,4}}(?:is|would\sbe)\sthe\s(?:only\s)?(?:one|option|choice)\s(?:that\s|which\s)?(?:fits|works|matches|satisfies|holds)\b",
        # "the hypothesis is a C. contradiction.", "The material is D) trees."
        rf"\b(?:is|are|was|would\sbe)\s(?:an?\s)?[*_(\[]{{0,3}}{_CAPITAL}(?=\)\s[A-Za-z]|\.\s[a-z])",
        # "The second picture (Choice A) is most alike."
        rf"[(\[](?i:option|choice)\s{_CAPITAL}[)\]](?=\s(?:is|was)\s(?:the\s)?(?:most|more|closest|best|right|correct)\b)",
        # "I'd pick option (b)."
        r"(?i:option|choice|answer)\s(?:is\s)?[(\[](?P<letter>[a-j])[)\]](?=[\s.,*]|\Z)",
        # "The valve is indicated by A." at the very end.
        rf"\b(?:indicated|marked|represented)\s(?:by|as|with)\s(?:the\sletter\s)?{_OPEN}{_CAPITAL}(?=[)\]*_.]{{0,4}}\s{{0,4}}\Z)",
        # "… is about 12.6 (Option A)." at the end of a sentence.
        rf"[(\[](?i:option|choice|answer)\s{_CAPITAL}[)\]](?=[*_]{{0,3}}(?:\.|,\s(?:as|since|because)\s|\s{{0,4}}(?:\n|\Z)))",
    )
)
"""What may be said of an option that is not the choice: it counts where nothing else announces one."""
_FIRST_LINE: Final = re.compile(
    rf"\s*(?>(?:[\s*_#>({{\[（【\"'`$]|\\text(?:bf|rm)?\{{|\\boxed\{{){{0,8}}){_LETTER}(?=[\s*_)}}\]）】\"'`$]*(?:[.:)）、。．\n]|\Z))"
)
_LAST_LINE: Final = re.compile(
    rf"(?>(?:[\s*_#>\-]|\(X\)\s|(?:So|Thus|Therefore|Hence|Answer|A|Ans|ANS|Final|Conclusion|QED)[,:.]?\s|[=-]{{1,2}}>\s?|[→⇒]\s?)*){_OPEN}{_LETTER}(?P<close>[\s*_)}}\]）】\"'`$.,:;、。．]*)(?P<rest>[^\n]{{0,300}})"
)
_OPTION: Final = re.compile(r"\W{0,4}([A-J])[).:]\s*\S")
_IN_BRACKETS: Final = re.compile(r"[(（\[]\s?(?P<letter>[A-J])\s?[)）\]]")
_CONTENT: Final = re.compile(
    rf"(?>(?:[\s*_(\[{{$（【「『“\"'`]|\\(?:text|textbf|mathbf|mathrm|textrm|bold|rm|bf|boxed|[( ])|(?i:the|correct|final|answer|option|choice|is|alternative|letter|选项|答案|是|选)(?=[\s_:：({{A-J])|[:：_]){{0,12}}){_LETTER}"
    rf"(?P<after>[\s*_)}}\]）】」』”\"'`$.,:;、。\\]*)(?P<rest>.*)",
    re.DOTALL,
)
_AND: Final = r"(?:,|、|，|،|;|；|and|or|&|和|或|与|और|এবং|و|/)"
_ANOTHER: Final = re.compile(
    rf"[\s*_)}}\]）】.,،]{{0,8}}{_AND}[\s*_]{{0,3}}[(（\[【]?[A-J](?![A-Za-z0-9'’])|[A-J]{{1,4}}(?![A-Za-z0-9'’])"
    r"|[)）]\s{0,3}(?:(?!because|since|not\b|as\b|is\b|but\b)[\w'-]{1,20}\s){1,4}[(（][A-J](?=[)）](?!\s(?:is|are|does)\b))"
    rf"|[)）\]】]\s?(?:(?!because|since|not\b|as\b|is\b|but\b|while|which|rather|than|so\b|if\b|or\b)[^\s()（）\[\]【】。]{{1,30}}\s){{1,16}}(?:(?<=,\s)|{_AND}\s?)"
    r"[(（\[【][A-J](?=[)）\]】](?!\s(?:is|are|was|does|do|has|have|would)\b))"
    rf"|\s\([^()\n]{{1,80}}\){_AND}\s(?:and\s)?[A-J](?=\s\()"
)
"""A further letter: `A and C`, `B (a wall), C (a tree)`, `ACD`, `[A] and [C]`, `(B) wall (E) table`, `(B) a tall wall of brick and (E) a table`."""
_LISTED_BEFORE: Final = re.compile(
    rf"(?<![A-Za-z0-9])(?:[(（\[【*_]{{0,3}}[A-J][)）\]】*_]{{0,3}},?\s?{_AND}\s?){{1,4}}[(（\[【*_]{{0,3}}\Z"
)
"""The first letters of a list that a statement comes behind: `(A), (B) and (D) are correct`."""
_SEVERAL: Final = re.compile(
    r"(?>(?:[\s*_({\[$]|\\(?:text|textbf|mathbf|mathrm|rm|bf)\b){0,8})((?>[A-J](?:[\s,、，;；&和与及{}$()]|\\[,; ]|and\b){0,8}){2,10})[\s.。)}\]$*]*"
)
_BRACKETED: Final = re.compile(r"(?:left|text\s?\{)?\s?[(（]")


_NOT_LETTERS: Final = re.compile(
    r"\b(?:not|n?either|nor|between|because|since|than|or|but|while|false|incorrect|wrong|unlike)\b"
)


def letter_in(content: str) -> str | None:
    """The letter of a content that is a choice: `(B)`, `B. 12 apples`, `\\text{(C)}`, `Choice_B`, `B (6)`; of `A, C` both; `None` for `B=3`."""
    if len(content) > 2_000:
        return None
    if (several := _SEVERAL.fullmatch(content)) is not None:
        letters = re.sub(r"[^A-J]", "", several[1])
        return letters if len(set(letters)) == len(letters) else None  # III is a number
    bracketed = _IN_BRACKETS.findall(content) if len(content) < 300 else []
    if len(set(bracketed)) > 1 and not (_NOT_LETTERS.search(content) or _OPEN_QUESTION.search(content)):
        return "".join(dict.fromkeys(bracketed))  # (A) -9, (D) 8
    choice = _CONTENT.fullmatch(content)
    if choice is None or _ANOTHER.match(content, choice.end("letter")):
        return None
    letter, after, rest = choice["letter"], choice["after"], choice["rest"]
    if rest and not re.search(r"[)\].:：、）】,]", after) and not _BRACKETED.match(rest):
        return None  # "A triangle", "B 12" are words and values, not a choice and its text
    if letter.islower() and rest and ")" not in after:
        return None
    return letter.upper()


def with_capitals(text: str, start: int, end: int) -> str:
    """The text with capital letters for the small ones of its options, `(b)` and `option b`, where it has no capital ones."""
    begin = max(start, end - _REACH)
    if not _SMALL.search(text, begin, end) or _CAPITAL_OPTION.search(text, begin, end):
        return text
    return text[:begin] + _SMALL.sub(lambda small: _LETTER_IN.sub(_upper, small[0]), text[begin:end]) + text[end:]


def _upper(letter: re.Match[str]) -> str:
    return letter[0].upper()


_SMALL: Final = re.compile(
    r"(?<![A-Za-z])(?<!part\s)(?<!case\s)(?<!by\s)(?<!By\s)(?<!from\s)(?<!From\s)(?<!equation\s)(?<![Tt]heorem\s)(?<!property\s)(?<!using\s)(?<!step\s)[(\[][a-j][)\]]|(?i:\b(?:option|choice)\s)[a-j](?![\w'’])"
)
_LETTER_IN: Final = re.compile(r"(?<![A-Za-z])[a-j](?![A-Za-z])")
_CAPITAL_OPTION: Final = re.compile(r"(?<![A-Za-z])[(\[][A-J][)\]]|(?i:\b(?:option|choice)\s)[A-J]\b|\b[B-H][).:]\s")


def announced_letter(text: str, start: int, end: int, *, weak: bool = True) -> ExtractedAnswer | None:
    """The letter that was announced last, else (if `weak`) that of the last remark on an option."""
    begin = max(start, end - _REACH)
    for announcements in (_ANNOUNCEMENTS, _REMARKS if weak else ()):
        matches = [
            match
            for each in announcements
            if each is not _IS_CORRECT or _CORRECT.search(text, begin, end)
            for match in each.finditer(text, begin, end)
        ]
        for match in sorted(matches, key=lambda match: match.start("letter"), reverse=True):
            if not _opens_list(text, match, end) and not _is_denied(text, match):
                chosen = _extracted(text, match, end)
                return chosen if len(chosen.content) <= 5 else None  # more is a list of all options
    return None


def _is_denied(text: str, match: re.Match[str]) -> bool:
    """Whether an announcement is turned round, "not consistent with option A", or announces none: "The answer is A cube"."""
    bare = match["letter"] == "A" and text[match.start("letter") - 1] not in "(["
    before = text[max(0, match.start() - 24) : match.start()]
    turned = _NOT.search(before) is not None or before.endswith((" or", " or "))
    if _REJECTED.match(text, match.end("letter")) is not None:
        return True  # "Solution: Choice D is wrong since …"
    return turned or (bare and _ARTICLE.match(text, match.end("letter")) is not None)


_ARTICLE: Final = re.compile(
    r"\s(?!(?:because|since|as|and|or|is|are|was|for|with|which|where|but|due|so|if|by|in|from|when|to|that|than|not|only|being|has|will|does|can|the|given|based|according|although|though|while|after|on|at|over|rather|unless|then|here|per)\b)[a-z]{2,}"
)
_NOT: Final = re.compile(
    r"(?:\bnot|n't|\bno\s(?:es|é)|\bnão\sé|\bn'est\spas|\bnicht|\bnor|\bnever|\bcannot|\bless|\bwhether|\bthan|\bunlike|\beliminate[sd]?|\bexcludes?|\breject(?:s|ed)?|\bexcept|\bversus|\bcontradicts?|\b(?:disagrees?|conflicts?)\swith|\brul(?:es?|ed|ing)\sout)(?:\s[a-z]+)?\s?\Z",
    re.IGNORECASE,
)


def _opens_list(text: str, match: re.Match[str], end: int) -> bool:
    """Whether what looks like an announcement only leads to all options: "Let us look at each option:", (A) …, (B) …"""
    at = match.end("letter")
    if "\n" not in match[0] or match["letter"] in "Jj":
        return False
    following = chr(ord(match["letter"]) + 1)
    return re.compile(rf"\n[\s*_(\[-]{{0,8}}{following}[).:*]").search(text, at, min(end, at + 1_000)) is not None


_REACH: Final = 6_000
"""How far before the end a choice may stand."""
_LONE: Final = re.compile(
    r"(?:\A|\n)[\s*_(\[]{0,8}(?:\(?X\)\s)?[\s*_(\[]{0,8}(?P<letter>[A-J])(?:[\s*_)\].]{0,8}\Z|[.)]\s[^\n]{1,200}\Z(?<!\n))"
)


_WHOLE: Final = re.compile(
    r"\s{0,4}[(\[](?P<letter>[a-j])[)\]]\s(?!(?:is|are|was)\b|[^\n]{0,200}[(\[][a-j][)\]])[^\n]{1,200}+\s{0,4}\Z"
)
"""`(c) the option in the picture`, and nothing else."""
_GLUED: Final = re.compile(r"[。！？]\s?(?P<letter>[A-J])[.。]?\Z")
"""该实数是 9。D"""


def lone_letter(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """A letter that is all of the last line, or opens a response of one line: nobody writes it for another reason."""
    tail = text[max(start, end - 240) : end].rstrip()
    if (glued := _GLUED.search(tail, max(0, len(tail) - 8))) is not None:
        at = max(start, end - 240) + glued.start("letter")
        return ExtractedAnswer(glued["letter"], at, at + 1, "chosen")
    if (whole := _WHOLE.match(text, start, end)) is not None:
        return ExtractedAnswer(whole["letter"].upper(), *whole.span("letter"), "chosen")
    line = max(tail.rfind("\n"), 0)
    lone = _LONE.match(tail, line) if tail.find("\\boxed", line) < 0 else None
    if lone is None or (
        lone["letter"] != tail[line:].strip(" *_()[].\n").removeprefix("X) ") and (line or len(tail) >= 240)
    ):
        return None
    at = max(start, end - 240) + lone.start("letter")
    return ExtractedAnswer(lone["letter"], at, at + 1, "chosen")


def letter_of_lines(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """The letter that opens the last or the first line of a response that announces none."""
    finish = start + len(text[start:end].rstrip())
    line = max(text.rfind("\n", start, finish) + 1, start, finish - 2_000)
    last = _LAST_LINE.match(text, line, finish)
    before = text[max(start, line - 400) : line].rstrip().rpartition("\n")[2]
    listed = _OPTION.match(before) if _OPTION.match(text, line, finish) else None
    if last is not None and listed is not None and listed[1] != last["letter"]:
        return ExtractedAnswer(
            listed[1] + last["letter"], line, finish, "chosen"
        )  # a list of options chooses none of them
    if last is not None and (not last["rest"] or re.search(r"[)\]）】.:、。．]", last["close"])):
        return _extracted(text, last, finish)
    if _IN_BRACKETS.search(text, line, finish):
        return bracketed_letters(text, line, finish)
    first = _FIRST_LINE.match(text, start, min(finish, start + 400))
    return _extracted(text, first, finish) if first is not None else None


def bracketed_letters(text: str, begin: int, end: int) -> ExtractedAnswer | None:
    """The letters in brackets that a line names last, those of one list together; `None` where it chooses none of them."""
    chosen, begin = None, max(begin, end - _LONGEST_LINE)
    for bracketed in _IN_BRACKETS.finditer(text, begin, end):
        if chosen is not None and bracketed.start() < chosen.end:
            continue  # one of the same list
        run = _extracted(text, bracketed, end)
        before = text[max(begin, bracketed.start() - 24) : bracketed.start()]
        if not (_NOT.search(before) or _REJECTED.match(text, run.end, end)):
            chosen = run
    if chosen is None or len(chosen.content) > 5:
        return None
    others = {letter for letter in _IN_BRACKETS.findall(text, chosen.end, end) if letter not in chosen.content}
    if others and len(chosen.content) > 1:
        return None  # (A), (B) and, of another kind, (E)
    sentence = max(text.rfind(". ", begin, chosen.start), begin)
    return None if _OPEN_QUESTION.search(text, sentence, end) else chosen


def listed_letters(text: str, begin: int, end: int) -> ExtractedAnswer | None:
    """The letters of a statement at `begin` that lists choices with their texts, "(A) $x < 2$ and (C) $x > 5$"; else `None`."""
    letters, finish = "", begin
    for bracketed in _IN_BRACKETS.finditer(text, begin, min(end, begin + _LONGEST_LINE)):
        between = text[finish : bracketed.start()]
        if "\n" in between or (_LISTS_ANOTHER.search(between) is None if letters else between.strip(" *_$")):
            break
        letters, finish = letters + bracketed["letter"], bracketed.end()
    several = len(set(letters)) == len(letters) > 1 and not _SAID_OF_LAST.match(text, finish, end)
    return ExtractedAnswer(letters, begin, finish, "chosen") if several else None


_SAID_OF_LAST: Final = re.compile(
    r"[)\]*_]{0,3}\s(?:is|are|was|were|needs?|does|do|has)\b(?!\s(?:both\s|all\s)?(?:correct|true|right|the\s(?:correct|possible|right)))"
)
_LISTS_ANOTHER: Final = re.compile(
    r"\A(?!\s?(?:is|are|was)\b|[^\n]*\b(?:not|than|because|since|or|but|while|so|only|false|incorrect|wrong|instead)\b)"
    rf"[^\n;]*(?:{_AND.replace('|;|；', '')})\s*[*_]*\Z"
)
_LONGEST_LINE: Final = 2_000
"""No line that chooses is longer, and each bracket in it costs a search."""
_OPEN_QUESTION: Final = re.compile(
    r"(?i:\b(?:any|none|either)\sof\s(?:the|these)|\bneither\b|\bbetween\s[(\[]|\bpossibilit(?:y|ies)\b|\b(?:could|might|may)\s(?:also\s)?be\b|\bnot\s(?:equal|match|among)|\binconclusive\b|\bunclear\b)"
)
"""A sentence that names options and chooses none of them."""
_REJECTED: Final = re.compile(
    r"[\s)\]*_]{0,4}(?:(?:is|are|was|were)\s(?:therefore\s|also\s|both\s)?(?:false|incorrect|wrong|not)\b|do(?:es)?\snot\b)"
)
_NEXT_LINES: Final = re.compile(r"[)\].:][^\n]*(?:\n{1,2}[\s*_-]{0,4}[(\[]?[A-J][)\].:][^\n]*){1,4}\s*\Z")
"""Further choices, each on a line of its own, down to the end of the response."""


def _extracted(text: str, match: re.Match[str], end: int) -> ExtractedAnswer:
    """The letter, with those it is listed with: of "A and C" both are the answer, which no single letter is."""
    letters, at = match["letter"].upper(), match.end("letter")
    if (before := _LISTED_BEFORE.search(text[max(0, match.start("letter") - 60) : match.start("letter")])) is not None:
        letters = "".join(re.findall(r"[A-J](?![A-Za-z])", before[0])) + letters
    if "\n" in match[0] and (lines := _NEXT_LINES.match(text[at : min(end, at + 2_000)])) is not None:
        letters += "".join(re.findall(r"\n[\s*_(\[-]{0,6}([A-J])[)\].:]", lines[0]))
        at = end
    while len(letters) < 10 and (more := _ANOTHER.match(text, at, end)) is not None:
        found = re.findall(r"[A-J]", more[0])
        letters, at = letters + (found[-1] if len(more[0]) > 12 else "".join(found)), more.end()
    return ExtractedAnswer(letters, match.start("letter"), at, "chosen")
