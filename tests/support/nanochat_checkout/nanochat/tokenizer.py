"""One token a character, and nanochat's special tokens."""

import copy

SPECIAL_TOKENS = [
    "<|bos|>",
    "<|user_start|>",
    "<|user_end|>",
    "<|assistant_start|>",
    "<|assistant_end|>",
    "<|python_start|>",
    "<|python_end|>",
    "<|output_start|>",
    "<|output_end|>",
]
FIRST_SPECIAL = 0x110000


class Tokenizer:
    def encode_special(self, text):
        return FIRST_SPECIAL + SPECIAL_TOKENS.index(text)

    def get_bos_token_id(self):
        return self.encode_special("<|bos|>")

    def encode(self, text):
        return [ord(character) for character in text]

    def decode(self, ids):
        return "".join(chr(one) if one < FIRST_SPECIAL else SPECIAL_TOKENS[one - FIRST_SPECIAL] for one in ids)

    def render_conversation(self, conversation, max_tokens=2048):
        messages = conversation["messages"]
        if messages[0]["role"] == "system":
            conversation = copy.deepcopy(conversation)
            messages = conversation["messages"]
            messages[1]["content"] = messages[0]["content"] + "\n\n" + messages[1]["content"]
            messages = messages[1:]
        ids = [self.get_bos_token_id()]
        for number, message in enumerate(messages):
            assert message["role"] == ("user" if number % 2 == 0 else "assistant")
            start, end = (f"<|{message['role']}_{place}|>" for place in ("start", "end"))
            ids += [self.encode_special(start), *self.encode(message["content"]), self.encode_special(end)]
        return ids[:max_tokens], [0] * len(ids[:max_tokens])

    def render_for_completion(self, conversation):
        conversation = copy.deepcopy(conversation)
        assert conversation["messages"][-1]["role"] == "assistant"
        conversation["messages"].pop()
        ids, _ = self.render_conversation(conversation)
        return [*ids, self.encode_special("<|assistant_start|>")]


def get_tokenizer():
    return Tokenizer()
