"""What the judges share: a GGUF file's tokenizer arrays, the judges' tokenizers made of them, and the
pipe to text_probe."""
import re
import struct
import subprocess

CONTROL, USER_DEFINED = 3, 4
SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
STRING, ARRAY = 8, 9


def gguf_metadata(path):
    """The key-value part of a GGUF file, read independently of the C++ reader."""
    with open(path, "rb") as file:
        def take(form):
            return struct.unpack(form, file.read(struct.calcsize(form)))[0]

        def string():
            return file.read(take("<Q")).decode()

        def value(kind):
            if kind == STRING:
                return string()
            if kind == ARRAY:
                inner, count = take("<I"), take("<Q")
                return [value(inner) for _ in range(count)]
            return take(SCALARS[kind])

        assert file.read(4) == b"GGUF"
        take("<I"), take("<Q")
        return {string(): value(take("<I")) for _ in range(take("<Q"))}


def byte_level_judge(metadata):
    """Hugging Face's tokenizer for the smollm rule, from the arrays: (special parsed, special as text)."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
    tokens = metadata["tokenizer.ggml.tokens"]
    kinds = metadata["tokenizer.ggml.token_type"]
    merges = [tuple(merge.split(" ", 1)) for merge in metadata["tokenizer.ggml.merges"]]

    def make(as_text):
        judge = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
        judge.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(r"\p{N}"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
        judge.decoder = decoders.ByteLevel()
        special = [token for token, kind in zip(tokens, kinds) if kind == CONTROL]
        judge.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
        judge.encode_special_tokens = as_text
        return lambda text: judge.encode(text, add_special_tokens=False).ids

    return make(False), make(True)


def varint(number):
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def sentencepiece_model(metadata):
    """The arrays as SentencePiece's ModelProto (sentencepiece_model.proto), written by hand."""
    out = []
    rows = zip(metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.scores"],
               metadata["tokenizer.ggml.token_type"])
    unknown = metadata["tokenizer.ggml.unknown_token_id"]
    for index, (token, score, kind) in enumerate(rows):
        if kind == USER_DEFINED:
            token = token.replace(" ", "\u2581")
        kind = 2 if index == unknown else kind
        out.append(field(1, field(1, token.encode()) + b"\x15" + struct.pack("<f", score) + b"\x18" + varint(kind)))
    trainer = b"\x18" + varint(2) + varint(35 << 3) + varint(1)  # model_type BPE, byte_fallback
    for number, key in ((40, "unknown"), (41, "bos"), (42, "eos"), (43, "padding")):
        trainer += varint(number << 3) + varint(metadata[f"tokenizer.ggml.{key}_token_id"])
    for number, key in ((45, "unknown"), (46, "bos"), (47, "eos"), (48, "padding")):
        piece = metadata["tokenizer.ggml.tokens"][metadata[f"tokenizer.ggml.{key}_token_id"]]
        trainer += field(number, piece.encode())
    out.append(field(2, trainer))
    # add_dummy_prefix and remove_extra_whitespaces off, escape_whitespaces on
    out.append(field(3, field(1, b"identity") + b"\x18\x00\x20\x00\x28\x01"))
    return b"".join(out)


def sentencepiece_judge(metadata):
    """Google's SentencePiece: (special parsed, special as text)."""
    import sentencepiece
    judge = sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_model(metadata))
    tokens = metadata["tokenizer.ggml.tokens"]
    control = {token: i for i, (token, kind) in enumerate(zip(tokens, metadata["tokenizer.ggml.token_type"]))
               if kind == CONTROL}
    spellings = re.compile("|".join(re.escape(token) for token in sorted(control, key=len, reverse=True)))

    def parsed(text):
        ids, begin = [], 0
        for match in spellings.finditer(text):
            ids += judge.encode(text[begin:match.start()]) + [control[match.group()]]
            begin = match.end()
        return ids + judge.encode(text[begin:])

    return parsed, judge.encode


def packed(data):
    data = data.encode() if isinstance(data, str) else data
    return struct.pack("<I", len(data)) + data


def ask(probe, model, records):
    """Sends the records to text_probe and returns its lines."""
    done = subprocess.run([probe, model], input=b"".join(records), stdout=subprocess.PIPE, check=True)
    return done.stdout.decode().splitlines()
