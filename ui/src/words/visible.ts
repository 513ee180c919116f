// What must be seen: control characters and those that turn or hide the text around them show as escapes. Line ends and tabs are
// left alone.
//
// C0 and C1 controls, soft hyphen, Arabic letter mark, Hangul and Mongolian fillers, zero-width and bidirectional marks, line and
// paragraph separators, invisible operators, variation of deprecated format characters, the byte order mark, interlinear
// annotations and tags.
const unseen =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|[\ud800-\udfff]/gu;

/** visible shows every character of a text that would otherwise not be seen as it is. */
export function visible(text: string): string {
  return text.replace(unseen, (c) => {
    const n = c.codePointAt(0) ?? 0;
    return n < 0x10000 ? '\\u' + n.toString(16).padStart(4, '0') : '\\u{' + n.toString(16) + '}';
  });
}
