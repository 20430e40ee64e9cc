"""One step of TRL's own GRPOTrainer with our rewards: the plumbing between them, as it really is."""

import string

import pytest

from markscheme import rewards


@pytest.mark.needs("trl", "torch", "transformers", "datasets", "accelerate")
def test_grpo_trainer_when_it_takes_a_step_then_calls_our_rewards_and_logs_them(tmp_path):
    from datasets import Dataset
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
    from trl import GRPOConfig, GRPOTrainer

    letters = {sign: k for k, sign in enumerate(["<pad>", "<eos>", *string.printable])}
    plain = Tokenizer(models.WordLevel(letters, unk_token="<pad>"))
    plain.pre_tokenizer, plain.decoder = pre_tokenizers.Split("", "isolated"), decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, pad_token="<pad>", eos_token="<eos>")
    size = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = Qwen2ForCausalLM(Qwen2Config(vocab_size=len(letters), num_key_value_heads=2, **size))
    rows = [{"prompt": "3 + 4 = ", "answer": "7"}, {"prompt": "1 + 1 = ", "answer": "so 2\n#### 2"}]
    settings = GRPOConfig(
        output_dir=str(tmp_path), max_steps=1, per_device_train_batch_size=2, num_generations=2, max_completion_length=8,
        use_cpu=True, report_to="none", logging_steps=1, save_strategy="no",
    )  # fmt: skip
    functions = [rewards.gsm8k_numeric, rewards.reward_for("math", gold_column="answer"), rewards.reward]
    trainer = GRPOTrainer(
        model=model, processing_class=tokenizer, reward_funcs=functions, args=settings, train_dataset=Dataset.from_list(rows)
    )  # fmt: skip
    trainer.train()
    logged = trainer.state.log_history[0]
    assert {f"rewards/{name}/mean" for name in ("gsm8k_numeric", "math", "reward")} <= logged.keys()
    assert all(0 <= logged[f"rewards/{name}/mean"] <= 1 for name in ("gsm8k_numeric", "math", "reward"))
