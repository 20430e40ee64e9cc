"""The backend `echo/TEXT`: answers every question with TEXT, and refuses a question that asks for it."""

from markscheme.models.base import Completion, Model, RequestFailed


def create(target, config):
    return Echo(target)


class Echo(Model):
    concurrency = 8
    own_sampling = True

    def __init__(self, text):
        self.name = f"echo/{text}"
        self._text = text

    async def generate(self, request):
        if "refuse" in request.statement:
            raise RequestFailed("unwilling", "I would rather not", retryable=False)
        return [Completion(text=self._text, finish_reason="stop") for _ in request.samples]


def create_unrelated(target, config):
    return Unrelated()


class Unrelated:
    """As a backend was written before there was a class to derive from."""

    name = "unrelated"
    concurrency = 8

    async def generate(self, request):
        return [Completion(text="") for _ in request.samples]

    async def close(self):
        pass
