"""The page in real Chromium against the real server: every test name is a claim about it."""

import os
import pathlib
import re
import shutil
import tempfile
import time
import unittest

from playwright.sync_api import expect, sync_playwright

from served import GEMMA3, SMOLLM2, Served, Stream, eventually, need

CHROMIUM = os.environ.get("PATERNOSTER_CHROMIUM") or shutil.which("chromium")
SCREENSHOTS = pathlib.Path(os.environ.get("PATERNOSTER_SCREENSHOTS", "."))
STORY = "Write a long story about a lift that never stops, with many chapters."
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync"]

# Counts how often the last answer has grown, with the time of each growth.
WATCH = """() => {
  window.grown = [];
  let length = -1;
  new MutationObserver(() => {
    const body = document.querySelector('.message.assistant:last-of-type .body');
    if (body && body.textContent.length > length) {
      length = body.textContent.length;
      window.grown.push(Date.now() / 1000);
    }
  }).observe(document.getElementById('messages'), {subtree: true, childList: true, characterData: true});
}"""


class Page(unittest.TestCase):
    model = SMOLLM2
    flags = ("--max-seqs", "16")

    @classmethod
    def setUpClass(cls):
        model = need(cls.model)
        # One thread: the browser needs the other processor, or it draws a few times a second.
        cls.server = cls.enterClassContext(Served(model, "--threads", "1", *cls.flags))
        playwright = cls.enterClassContext(sync_playwright())
        cls.profile = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.complaints = []
        self.foreign = []
        self.context = self.browser.new_context(viewport={"width": 1360, "height": 820})
        self.context.on("request", self.note_request)

    def tearDown(self):
        self.context.close()
        self.assertTrue(self.server.quiet(), "a request still runs after its page has gone")
        self.assertEqual(self.complaints, [])
        self.assertEqual(self.foreign, [])

    def note_request(self, request):
        if not request.url.startswith((self.server.origin + "/", "data:", "blob:")):
            self.foreign.append(request.url)

    def note_console(self, message):
        # Chromium reports a refused request by itself; the page shows it to the user.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)

    def open(self, **settings):
        page = self.context.new_page()
        page.on("console", self.note_console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(self.server.origin + "/")
        expect(page.locator("#connection")).to_have_attribute("data-state", "live")
        if settings:
            page.click("#settings-toggle")
            for name, value in settings.items():
                page.fill(f"#{name.replace('_', '-')}", str(value))
            page.click("#settings-toggle")
        return page

    def ask(self, page, text):
        page.fill("#prompt", text)
        page.press("#prompt", "Enter")

    def answer(self, page):
        return page.locator(".message.assistant .body").last

    def finished(self, page):
        note = page.locator(".message.assistant .note").last
        expect(note).not_to_be_empty(timeout=120_000)
        expect(page.locator("#send")).to_be_visible(timeout=120_000)
        return note.inner_text()


class Modules(Page):
    def test_events_are_the_same_however_the_bytes_are_cut(self):
        cut = self.open().evaluate("""async () => {
          const {EventSplitter} = await import('/stream.js');
          const text = 'data: {"a":1}\\n\\n: ping\\n\\ndata:two\\r\\n\\r\\nevent: x\\ndata: 3\\ndata: 4\\n\\n';
          return Array.from(text, (_, size) => {
            const splitter = new EventSplitter();
            const seen = [];
            for (let at = 0; at < text.length; at += size + 1) {
              seen.push(...splitter.push(text.slice(at, at + size + 1)));
            }
            return seen.join('|');
          });
        }""")
        self.assertEqual(set(cut), {'{"a":1}|two|3\n4'})

    def test_code_stays_code_while_its_fence_is_open(self):
        kinds = self.open().evaluate("""async () => {
          const {blocks} = await import('/render.js');
          return ['a\\n```py\\nx', 'a\\n```py\\nx\\n```\\nb', '``` \\n', '~~~\\n```\\n~~~'].map(
            (text) => blocks(text).map((block) => block.kind + ':' + block.text).join('|'));
        }""")
        self.assertEqual(kinds, ["prose:a|code:x", "prose:a|code:x|prose:b", "code:", "code:```"])

    def test_a_row_that_is_gone_stays_a_while_and_then_leaves(self):
        rows = self.open().evaluate("""async () => {
          const {Lift} = await import('/lift.js');
          const lift = new Lift();
          const one = {id: 1, state: 'decode', output: 3};
          lift.take({sequences: [one, {id: 2, state: 'waiting', reason: 'seat_limit'}]}, 1);
          lift.take({sequences: [{...one, output: 4}]}, 2);
          const words = lift.rows.map((row) => row.words());
          lift.sweep(10000);
          return [words, lift.rows.map((row) => row.id), lift.rows[0].cell(0).state, lift.rows[0].cell(5)];
        }""")
        self.assertEqual(rows, [["decode 4", "left"], [1], "decode", None])


class Chatting(Page):
    def test_the_page_names_the_model_and_says_that_the_lift_is_empty(self):
        page = self.open()
        expect(page.locator("#model")).to_contain_text(re.compile("smollm2", re.I))
        expect(page.locator("#idle")).to_be_visible()
        expect(page.locator("#curl")).to_contain_text(self.server.origin)
        self.assertEqual(page.evaluate("document.activeElement.id"), "prompt")

    def test_an_answer_streams_token_by_token_and_tells_its_pace(self):
        page = self.open(temperature=0, max_tokens=60)
        page.evaluate(WATCH)
        self.ask(page, "Why is the sky blue?")
        note = self.finished(page)
        self.assertRegex(note, r"^\d+ tokens · first after .* · [\d.]+ tokens/s")
        self.assertGreater(len(page.evaluate("window.grown")), 5)

    def test_a_second_turn_knows_the_first(self):
        bodies = []
        page = self.open(temperature=0, max_tokens=24)
        page.on("request", lambda r: bodies.append(r.post_data_json) if r.method == "POST" else None)
        self.ask(page, "My name is Ada.")
        self.finished(page)
        self.ask(page, "What is my name?")
        expect(page.locator(".message.assistant .note")).to_have_count(2)
        self.finished(page)
        roles = [message["role"] for message in bodies[-1]["messages"]]
        self.assertEqual(roles, ["user", "assistant", "user"])

    def test_settings_reach_the_server_and_outlive_the_page(self):
        bodies = []
        page = self.open(temperature=0.3, max_tokens=7, seed=42, system="Be brief.")
        page.on("request", lambda r: bodies.append(r.post_data_json) if r.method == "POST" else None)
        self.ask(page, "Hello")
        self.assertIn("cut at the token limit", self.finished(page))
        body = bodies[0]
        self.assertEqual((body["temperature"], body["max_tokens"], body["seed"]), (0.3, 7, 42))
        self.assertEqual(body["messages"][0], {"role": "system", "content": "Be brief."})
        page.reload()
        self.assertEqual(page.input_value("#system"), "Be brief.")
        expect(page.locator(".message")).to_have_count(2)

    def test_the_same_seed_gives_the_same_answer(self):
        page = self.open(temperature=1, max_tokens=24, seed=7)
        self.ask(page, "Tell me something.")
        self.finished(page)
        first = self.answer(page).inner_text()
        with page.expect_response(lambda response: "completions" in response.url):
            page.get_by_role("button", name="Retry").last.click()
        self.finished(page)
        self.assertEqual(self.answer(page).inner_text(), first)

    def test_stop_cancels_the_request_in_the_server(self):
        page = self.open(max_tokens=1500)
        self.ask(page, STORY)
        expect(self.answer(page)).not_to_be_empty(timeout=20_000)
        page.click("#stop")
        self.assertIn("stopped", self.finished(page))
        self.assertTrue(eventually(lambda: self.server.running() == 0, 2))

    def test_closing_the_tab_cancels_the_request_in_the_server(self):
        page = self.open(max_tokens=1500)
        self.ask(page, STORY)
        expect(self.answer(page)).not_to_be_empty(timeout=20_000)
        page.close()
        self.assertTrue(eventually(lambda: self.server.running() == 0, 2))

    def test_a_refused_request_shows_the_servers_words(self):
        page = self.open()
        self.ask(page, "word " * 30_000)
        expect(page.locator(".error")).to_contain_text("maximum context length", timeout=20_000)
        expect(page.locator("#send")).to_be_visible()

    def test_markup_in_messages_stays_text(self):
        page = self.open(max_tokens=4)
        self.ask(page, "<img src=x onerror=\"document.title='owned'\"><script>1</script>\n```js\n<b>x</b>\n```")
        self.finished(page)
        body = page.locator(".message.user .body")
        expect(body).to_contain_text("<img src=x onerror=")
        self.assertEqual(page.locator("#messages img, #messages script, #messages b").count(), 0)
        expect(body.locator("pre code")).to_have_text("<b>x</b>")

    def test_the_keyboard_alone_is_enough(self):
        page = self.open()
        keys = page.keyboard
        keys.type("Tell me a very long story.")
        keys.press("Shift+Enter")
        keys.type("With a lift.")
        keys.press("Enter")
        expect(page.locator(".message.user .body")).to_have_text("Tell me a very long story.\nWith a lift.")
        expect(self.answer(page)).not_to_be_empty(timeout=20_000)
        keys.press("Escape")
        self.finished(page)
        self.assertEqual(page.evaluate("document.activeElement.id"), "prompt")
        keys.press("Alt+n")
        expect(page.locator(".message")).to_have_count(0)
        page.evaluate("document.activeElement.blur()")
        reached = set()
        for _ in range(20):
            keys.press("Tab")
            reached.add(page.evaluate("document.activeElement.id"))
        self.assertLessEqual({"new-chat", "settings-toggle", "theme", "messages", "prompt", "send"}, reached)


class Riding(Page):
    def test_two_tabs_and_three_api_streams_ride_together(self):
        tabs = [self.open(max_tokens=600, temperature=0) for _ in range(2)]
        for tab in tabs:
            tab.evaluate(WATCH)
        tabs[0].bring_to_front()
        streams = [Stream(self.server, f"Chapter {n}:", tokens=3000) for n in range(3)]
        for tab in tabs:
            self.ask(tab, STORY)
        most = 0
        for _ in range(200):
            most = max(most, int(tabs[1].inner_text("#running")))
            if most >= 5:
                break
            time.sleep(0.05)
        self.assertEqual(most, 5)
        tabs[1].screenshot(path=SCREENSHOTS / "page-five-riders.png")
        grown = []
        for tab in tabs:
            self.finished(tab)
            grown.append(tab.evaluate("window.grown"))
        times = [stream.stop() for stream in streams] + grown
        first, last = max(t[0] for t in times), min(t[-1] for t in times)
        self.assertLess(first, last, "there was no moment in which all five streamed")
        for each in times:
            self.assertGreater(sum(first <= t <= last for t in each), 3)

    def test_the_lift_shows_a_row_for_each_sequence_and_marks_the_pages_own(self):
        page = self.open(max_tokens=600)
        other = Stream(self.server, tokens=3000)
        self.ask(page, STORY)
        own = page.locator('.row[data-own="yes"]')
        expect(own).to_have_count(1, timeout=20_000)
        expect(own).to_contain_text("you")
        expect(own).to_contain_text("decode")
        expect(page.locator('.row[data-own="no"]')).to_have_count(1)
        self.assertGreater(page.evaluate("document.querySelector('.kv-used').getBoundingClientRect().width"), 0)
        expect(page.locator("#kv-words")).to_contain_text(re.compile(r"[1-9]\d* used .* free of \d+"))
        self.assertGreater(float(page.inner_text("#rate")), 0)
        self.assertGreater(float(page.inner_text("#step-ms")), 0)
        page.screenshot(path=SCREENSHOTS / "page-live.png")
        page.click("#stop")
        other.stop()
        self.finished(page)
        expect(page.locator("#idle")).to_be_visible(timeout=20_000)

    def test_prefill_is_seen_before_decode(self):
        page = self.open(max_tokens=24)
        page.evaluate("""() => {
          window.states = new Set();
          setInterval(() => document.querySelectorAll('.row').forEach((row) =>
            window.states.add(row.dataset.state)), 5);
        }""")
        self.ask(page, "Summarise: " + "the lift goes up and the lift goes down. " * 60)
        self.finished(page)
        self.assertTrue(eventually(lambda: {"prefill", "decode"} <= set(page.evaluate("[...window.states]")), 5))


class Crowded(Page):
    flags = ("--max-seqs", "2")

    def test_whoever_waits_has_the_reason_in_words(self):
        page = self.open(max_tokens=20)
        streams = [Stream(self.server, f"Number {n}", tokens=3000) for n in range(4)]
        waiting = page.locator('.row[data-state="waiting"]')
        expect(waiting.first).to_be_visible(timeout=20_000)
        expect(page.locator('.row[data-reason="seat_limit"]').first).to_contain_text("all seats taken")
        expect(page.locator("#live-note")).to_contain_text("waiting:")
        self.assertGreater(int(page.inner_text("#waiting")), 0)
        self.ask(page, "Hello")
        expect(page.locator('.row[data-own="yes"]')).to_contain_text("waits", timeout=20_000)
        expect(self.answer(page)).to_have_attribute("data-ride", re.compile("^waits: "))
        page.screenshot(path=SCREENSHOTS / "page-waiting.png")
        for stream in streams:
            stream.stopped = True
        for stream in streams:
            stream.stop()
        self.finished(page)

    def test_tenants_and_classes_are_seen(self):
        page = self.open()
        streams = [Stream(self.server, tokens=3000, user="alice"),
                   Stream(self.server, tokens=3000, user="bob", service_tier="flex")]
        expect(page.locator(".row", has_text="alice")).to_contain_text("decode", timeout=20_000)
        expect(page.locator(".row", has_text="bob")).to_contain_text("flex · decode", timeout=20_000)
        expect(page.locator("#live-groups")).to_have_text("alice 1 · bob 1 · flex 1")
        for stream in streams:
            stream.stop()

    def test_sixty_four_rows_fit(self):
        page = self.open()
        streams = [Stream(self.server, f"Number {n}", tokens=60) for n in range(64)]
        expect(page.locator(".row")).to_have_count(64, timeout=20_000)
        page.screenshot(path=SCREENSHOTS / "page-64-rows.png")
        tall = page.evaluate("document.querySelector('.rows').offsetHeight")
        self.assertLessEqual(tall, 64 * 16)
        for stream in streams:
            stream.done()


class WithoutTemplate(Page):
    model = GEMMA3

    def test_a_base_model_says_so_and_still_continues_text(self):
        page = self.open(max_tokens=16)
        self.ask(page, "The capital of France is")
        expect(page.locator(".error")).to_contain_text(re.compile("template", re.I), timeout=20_000)
        page.keyboard.press("Alt+n")
        page.click("#settings-toggle")
        page.select_option("#mode", "text")
        self.ask(page, "The capital of France is")
        self.finished(page)
        expect(self.answer(page)).not_to_be_empty()


class Locked(Page):
    @classmethod
    def setUpClass(cls):
        keys = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory())) / "keys"
        keys.write_text("sesame\n")
        cls.flags = ("--api-key-file", str(keys))
        super().setUpClass()

    def test_the_page_asks_for_the_key_and_works_with_it(self):
        page = self.context.new_page()
        page.goto(self.server.origin + "/")
        expect(page.locator("#api-key")).to_be_focused()
        page.fill("#max-tokens", "8")
        page.fill("#api-key", "sesame")
        page.press("#api-key", "Tab")
        expect(page.locator("#model")).to_contain_text(re.compile("smollm2", re.I))
        expect(page.locator("#connection")).to_have_attribute("data-state", "live", timeout=15_000)
        self.ask(page, "Hello")
        self.finished(page)
        expect(self.answer(page)).not_to_be_empty()


del Page  # a base, no test of its own

if __name__ == "__main__":
    unittest.main(verbosity=2)
