"""Chat templates against Jinja2 set up as transformers does, and their ids against the judge's ids of
the whole text."""
import argparse
import datetime
import json
import pathlib
import struct
import sys

import jinja2
import jinja2.ext
import jinja2.sandbox

import vocabularies

HERE = pathlib.Path(__file__).parent
USER, SYSTEM = {"role": "user", "content": "Hello, how are you?"}, {"role": "system", "content": " Be brief. "}
REPLY = {"role": "assistant", "content": "Fine — and \"you\"?"}
TOOLS = [{"type": "function", "function": {
    "name": "get_weather", "description": "Weather <of> a & b's town",
    "parameters": {"type": "object", "properties": {"town": {"type": "string"}, "days": {"type": "integer", "default": 3}},
                   "required": ["town"]}}}]
CALL = {"role": "assistant", "content": "", "tool_calls": [
    {"id": "call00001", "type": "function", "function": {"name": "get_weather", "arguments": {"town": "Zürich", "days": 2.5}}}]}
RESULT = {"role": "tool", "tool_call_id": "call00001", "content": '{"celsius": 21}'}

CONVERSATIONS = {
    "one turn": ([USER], {}),
    "no generation prompt": ([USER, REPLY], {"add_generation_prompt": False}),
    "system": ([SYSTEM, USER], {}),
    "three turns": ([SYSTEM, USER, REPLY, {"role": "user", "content": "日本語 \U0001f600\r\n\tcode:  x  = 1\n\n"}], {}),
    "tools offered": ([USER], {"tools": TOOLS}),
    "tool called": ([USER, CALL, RESULT], {"tools": TOOLS}),
    "reasoning": ([USER, {"role": "assistant", "content": "<think>\nhm\n</think>\n\nFine."}, {"role": "user", "content": "And?"}], {}),
    "reasoning apart": ([USER, {"role": "assistant", "content": "Fine.", "reasoning_content": "hm"}], {"add_generation_prompt": False}),
    "thinking off": ([USER], {"enable_thinking": False}),
    "empty content": ([{"role": "user", "content": ""}], {}),
    "roles out of order": ([USER, USER], {}),
    "curly content": ([{"role": "user", "content": "{{ 7 * 7 }} {% if %} {# x #} <|im_ [INST"}], {}),
    "long": ([USER, REPLY] * 20 + [USER], {}),
    "date": ([USER], {"date_string": "1 Jan 2030"}),
}


def jinja_renderer(source, bos, eos):
    class Generation(jinja2.ext.Extension):
        tags = {"generation"}

        def parse(self, parser):
            line = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            return jinja2.nodes.CallBlock(self.call_method("_same"), [], [], body).set_lineno(line)

        def _same(self, caller):
            return caller()

    def raise_exception(message):
        raise jinja2.TemplateError(message)

    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    environment.filters["tojson"] = lambda value, ensure_ascii=False, indent=None, separators=None, sort_keys=False: \
        json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
    template = environment.from_string(source)

    def render(messages, variables):
        try:
            return template.render(messages=messages, bos_token=bos, eos_token=eos, **variables)
        except (jinja2.TemplateError, TypeError):
            return None

    return render


def record(messages, variables):
    variables = dict(variables)
    out = b"R" + bytes([variables.pop("add_generation_prompt")])
    tools = variables.pop("tools", None)
    out += vocabularies.packed(json.dumps(tools) if tools else "")
    out += vocabularies.packed(json.dumps(variables) if variables else "")
    out += struct.pack("<I", len(messages))
    for message in messages:
        rest = {key: value for key, value in message.items() if key not in ("role", "content")}
        for part in (message["role"], message["content"], json.dumps(rest) if rest else ""):
            out += vocabularies.packed(part)
    return out


def judge_template(name, source, render, parsed, options):
    cases = [(title, messages, {"add_generation_prompt": True, **variables})
             for title, (messages, variables) in CONVERSATIONS.items()]
    records = [b"C" + vocabularies.packed(source)] + [record(messages, variables) for _, messages, variables in cases]
    first, *lines = vocabularies.ask(options.probe, options.models / "smollm2-135m-instruct-q4_1.gguf", records)
    assert first == "+", f"{name}: {first}"
    different = refused = 0
    for (title, messages, variables), line in zip(cases, lines, strict=True):
        expected = render(messages, variables)
        if expected is None:
            refused += 1
            same = line.startswith("-")
        else:
            text, _, ids = line[1:].partition("|")
            same = line.startswith("+") and bytes.fromhex(text).decode() == expected \
                and [int(number) for number in ids.split()] == parsed(expected)
        if not same:
            different += 1
            shown = line if line.startswith("-") else repr(bytes.fromhex(line[1:].partition("|")[0]).decode()) + line.partition("|")[2]
            print(f"{name}, {title}:\n  ours   {shown}\n  Jinja2 {expected!r} {parsed(expected or '')}")
    print(f"{name}: {len(cases)} conversations, {refused} refused by Jinja2, {different} differ")
    return different


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--probe", required=True)
    arguments.add_argument("--models", required=True, type=pathlib.Path)
    options = arguments.parse_args()
    model = options.models / "smollm2-135m-instruct-q4_1.gguf"
    if not model.exists():
        print(f"{model} is missing: run `paternoster pull` first")
        return 77
    metadata = vocabularies.gguf_metadata(model)
    tokens = metadata["tokenizer.ggml.tokens"]
    bos, eos = (tokens[metadata[f"tokenizer.ggml.{key}_token_id"]] for key in ("bos", "eos"))
    parsed, _ = vocabularies.byte_level_judge(metadata)
    sources = {path.stem: path.read_text() for path in sorted((HERE / "templates").glob("*.jinja"))}
    sources["SmolLM2's own"] = metadata["tokenizer.chat_template"]
    different = sum(judge_template(name, source, jinja_renderer(source, bos, eos), parsed, options)
                    for name, source in sources.items())
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
