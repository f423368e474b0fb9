// A model's text as DOM: fenced code, inline code, bold, headings; everything else stays text.
// Nodes are made one by one and text goes in as text, so nothing a model writes can become markup.

// Splits text into blocks of prose and code. An unfinished fence counts as code to the end.
export function blocks(text) {
  const out = [];
  let prose = [];
  const flush = () => {
    const joined = prose.join('\n').replace(/^\n+|\s+$/g, '');
    if (joined) out.push({kind: 'prose', text: joined, language: ''});
    prose = [];
  };
  let code = null;
  for (const line of text.split('\n')) {
    const fence = line.match(/^\s{0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/);
    if (code) {
      if (fence && fence[2] === '' && fence[1][0] === code.mark[0] && fence[1].length >= code.mark.length) {
        out.push({kind: 'code', text: code.lines.join('\n'), language: code.language});
        code = null;
      } else {
        code.lines.push(line);
      }
    } else if (fence) {
      flush();
      code = {mark: fence[1], language: fence[2], lines: []};
    } else {
      prose.push(line);
    }
  }
  if (code) out.push({kind: 'code', text: code.lines.join('\n'), language: code.language});
  flush();
  return out;
}

function inline(parent, text) {
  for (const part of text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/)) {
    if (part.length > 2 && part[0] === '`' && part.at(-1) === '`') {
      parent.append(element('code', '', part.slice(1, -1)));
    } else if (part.length > 4 && part.startsWith('**') && part.endsWith('**')) {
      parent.append(element('strong', '', part.slice(2, -2)));
    } else if (part) {
      parent.append(part);
    }
  }
}

function prose(text) {
  const node = element('div', 'prose');
  const lines = text.split('\n');
  lines.forEach((line, index) => {
    const heading = line.match(/^#{1,6}\s+(.+)$/);
    if (heading) {
      inline(node.appendChild(element('strong', 'heading')), heading[1]);
    } else {
      inline(node, line);
    }
    if (index + 1 < lines.length) node.append('\n');
  });
  return node;
}

function code(block) {
  const node = element('figure', 'code');
  const bar = node.appendChild(element('figcaption', '', block.language || 'code'));
  bar.append(copyButton(() => block.text));
  node.appendChild(element('pre')).append(element('code', '', block.text));
  return node;
}

// Shows `text` in `parent`; blocks that have not changed since the last call keep their nodes, so
// that a long answer streams without being built anew and a selection in it survives.
export function render(parent, text) {
  const next = blocks(text);
  next.forEach((block, index) => {
    const signature = `${block.kind} ${block.language}\n${block.text}`;
    const old = parent.children[index];
    if (old?.signature === signature) return;
    const node = block.kind === 'code' ? code(block) : prose(block.text);
    node.signature = signature;
    if (old) old.replaceWith(node);
    else parent.append(node);
  });
  while (parent.children.length > next.length) parent.lastElementChild.remove();
}

export function element(tag, className = '', text = '') {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text) node.textContent = text;
  return node;
}

export function copyButton(text) {
  const button = element('button', 'copy', 'Copy');
  button.type = 'button';
  button.addEventListener('click', async () => {
    button.textContent = await copy(text()) ? 'Copied' : 'Not copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });
  return button;
}

// The clipboard API needs a secure origin; a page served to the home network over http has none.
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = element('textarea', 'offscreen');
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}
