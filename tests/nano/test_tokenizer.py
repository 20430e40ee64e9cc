"""The tokenizer of `nano`: the puzzle and nothing but the puzzle, and the same for the Hugging Face libraries."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.benchmarks import benchmark
from markscheme.nano import WEIGHTS
from markscheme.nano.tokenizer import BOS, EOS, PAD, VOCABULARY, decode, encode

numbers = st.integers(0, 1200)


@pytest.fixture(scope="module")
def foreign():
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(WEIGHTS / "tokenizer.json"))


def test_question_when_encoded_then_only_numbers_and_target_remain():
    statement = benchmark("countdown-sample").problems[0].statement
    assert decode(encode(statement)) == "6 87 3 > 14 ?"


def test_text_when_it_has_other_words_and_large_numbers_then_they_are_passed_over():
    assert decode(encode("Hello 7, 1000 and 08 × 12?! and 5")) == "7 12 ?"


def test_solution_when_encoded_and_decoded_then_unchanged():
    text = "70 + 35 = 105 , 41 18 105 ; 105 - 41 = 64 <answer> ( 70 + 35 ) - 41 </answer>"
    assert decode([*encode(text), EOS, PAD]) == text


@pytest.mark.needs("tokenizers")
@settings(max_examples=100, deadline=None)
@given(
    text=st.one_of(
        st.text(max_size=60),
        st.lists(st.sampled_from([*VOCABULARY[3:16], "target", " ", "\n", "12", "007", "1000", ", "])).map("".join),
        st.lists(numbers, min_size=3, max_size=4).map(
            lambda n: f"Given the numbers {n}, reach the target {n[0]}? So 3"
        ),
    )
)
def test_any_text_when_encoded_then_tokenizer_json_agrees(foreign, text):
    if any(special in text for special in ("<pad>", "<bos>", "<eos>")):
        return  # the libraries read these as the special tokens they name
    assert encode(text) == foreign.encode(text).ids


@pytest.mark.needs("transformers", "torch")
def test_chat_when_templated_then_the_last_message_is_the_puzzle():
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(WEIGHTS)
    chat = [{"role": "system", "content": "Use 5 words"}, {"role": "user", "content": "numbers 1, 2, 3, target 6?"}]
    assert tokenizer.apply_chat_template(chat)["input_ids"] == encode("numbers 1, 2, 3, target 6?")
    assert tokenizer.decode([BOS, *encode("1 + 2"), EOS], skip_special_tokens=True) == "1 + 2"
