// The wire format of server-sent events. Pure: text in, events out.

/** Message is one event as it came. */
export interface Message {
  event: string;
  data: string;
  id: string;
}

/** MAX is how much of one event is kept waiting for its end, in characters; a server that never ends one is not ours. */
const MAX = 4 << 20;

/**
 * Splitter takes a stream of text in any pieces and gives its events. Lines end in LF, CR LF or CR. An event without data is
 * none, comments are left out.
 */
export class Splitter {
  private rest = '';
  private event = '';
  private data: string[] = [];
  private size = 0;
  private id = '';
  private afterCR = false;

  push(text: string): Message[] {
    const out: Message[] = [];
    if (this.afterCR && text.startsWith('\n')) text = text.slice(1);
    if (text === '') return out;
    this.afterCR = text.endsWith('\r');
    const lines = (this.rest + text).split(/\r\n|\n|\r/);
    this.rest = lines.pop() ?? '';
    if (this.rest.length + this.size > MAX) throw new Error('an event of the live feed does not end');
    for (const line of lines) this.line(line, out);
    return out;
  }

  private line(line: string, out: Message[]): void {
    if (line === '') {
      if (this.data.length > 0) out.push({ event: this.event || 'message', data: this.data.join('\n'), id: this.id });
      this.event = '';
      this.data = [];
      this.size = 0;
      return;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? '' : line.slice(colon + 1);
    if (value.startsWith(' ')) value = value.slice(1);
    switch (field) {
      case 'event':
        this.event = value;
        break;
      case 'data':
        this.data.push(value);
        this.size += value.length;
        if (this.size > MAX) throw new Error('an event of the live feed does not end');
        break;
      case 'id':
        if (!value.includes('\0')) this.id = value;
        break;
    }
  }
}
