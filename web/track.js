// Paints the rows' histories: one column a step, the newest on the right. Height tells the state as
// well as colour does: prefill is tall, decode half, waiting a thin line, preempted tall and crossed.

const kCell = 7;  // CSS pixels a column, gap included

export class Track {
  #canvas;
  #colours = null;

  constructor(canvas) { this.#canvas = canvas; }

  // Colours come from the style sheet; call after the theme has changed.
  forgetColours() { this.#colours = null; }

  paint(lift, rowHeight, isOwn) {
    const canvas = this.#canvas;
    const scale = devicePixelRatio || 1;
    const width = canvas.clientWidth;
    const height = lift.rows.length * rowHeight;
    canvas.style.height = `${height}px`;
    const pixels = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) [canvas.width, canvas.height] = pixels;
    const context = canvas.getContext('2d');
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    this.#colours ??= this.#read();
    const columns = Math.floor(width / kCell);
    lift.rows.forEach((row, index) => {
      const top = index * rowHeight;
      if (isOwn(row)) {
        context.fillStyle = this.#colours.own;
        context.fillRect(0, top, width, rowHeight);
      }
      context.globalAlpha = row.doneAt ? 0.45 : 1;
      for (let back = 1; back <= columns; back += 1) {
        const cell = row.cell(lift.column - back);
        if (cell) this.#cell(context, cell, width - back * kCell, top, rowHeight);
      }
      context.globalAlpha = 1;
    });
  }

  #cell(context, cell, x, top, rowHeight) {
    const room = rowHeight - 4;
    const share = {prefill: 1, decode: 0.55, waiting: 0.16, preempted: 1}[cell.state] ?? 0.16;
    const tall = Math.max(2, Math.round(room * share));
    const y = top + 2 + (room - tall) / 2;
    context.fillStyle = this.#colours[cell.state] ?? this.#colours.waiting;
    if (cell.state === 'prefill') {
      // The more tokens in the step, the stronger.
      context.save();
      context.globalAlpha *= Math.min(1, 0.5 + Math.log2(1 + cell.tokens) / 14);
      context.fillRect(x, y, kCell - 1, tall);
      context.restore();
      return;
    }
    context.fillRect(x, y, kCell - 1, tall);
    if (cell.state === 'preempted') {
      context.strokeStyle = this.#colours.paper;
      context.lineWidth = 1.5;
      context.beginPath();
      context.moveTo(x, y + tall);
      context.lineTo(x + kCell - 1, y);
      context.stroke();
    }
  }

  #read() {
    const style = getComputedStyle(document.documentElement);
    const get = (name) => style.getPropertyValue(`--${name}`).trim();
    return {
      prefill: get('prefill'), decode: get('decode'), waiting: get('waiting'),
      preempted: get('preempted'), own: get('own-row'), paper: get('paper'),
    };
  }
}
