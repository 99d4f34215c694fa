// Several files, or folders of them, as one zip archive: what the server takes for an export that was unpacked.

const [LOCAL, CENTRAL, END] = [0x04034b50, 0x02014b50, 0x06054b50];
const UTF8 = 0x0800; // how names are written
const MOST = 65_000; // files that such an archive can have

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

function checksum(bytes) {
  let value = -1;
  for (const byte of bytes) value = TABLE[(value ^ byte) & 255] ^ (value >>> 8);
  return ~value >>> 0;
}

/** Numbers in the order of a header: pairs of a number and how many bytes it has. */
function header(...fields) {
  const view = new DataView(new ArrayBuffer(fields.reduce((sum, [, size]) => sum + size, 0)));
  let place = 0;
  for (const [value, size] of fields) {
    if (size === 4) view.setUint32(place, value, true);
    else view.setUint16(place, value, true);
    place += size;
  }
  return view.buffer;
}

/** An archive of files, none of them compressed; `files` are pairs of a path and a file. */
export async function packed(files) {
  const parts = [];
  const directory = [];
  let place = 0;
  for (const [path, file] of files.slice(0, MOST)) {
    const name = new TextEncoder().encode(path);
    const sum = checksum(new Uint8Array(await file.arrayBuffer()));
    const about = [[20, 2], [UTF8, 2], [0, 2], [0, 2], [33, 2], [sum, 4], [file.size, 4], [file.size, 4], [name.length, 2], [0, 2]];
    parts.push(header([LOCAL, 4], ...about), name, file);
    directory.push(header([CENTRAL, 4], [20, 2], ...about, [0, 2], [0, 2], [0, 2], [0, 4], [place, 4]), name);
    place += 30 + name.length + file.size;
  }
  const count = directory.length / 2;
  const size = directory.reduce((sum, part) => sum + part.byteLength, 0);
  const end = header([END, 4], [0, 2], [0, 2], [count, 2], [count, 2], [size, 4], [place, 4], [0, 2]);
  return new Blob([...parts, ...directory, end]);
}

/** The files that were dropped, with those in folders: pairs of a path and a file. */
export async function dropped(transfer) {
  // Entries have to be asked for before anything is waited for.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.() ?? null);
  if (!entries.some((entry) => entry?.isDirectory)) return [...transfer.files].map((file) => [file.name, file]);
  const files = [];
  for (const entry of entries) if (entry) await gather(entry, files);
  return files;
}

async function gather(entry, files) {
  const path = entry.fullPath.replace(/^\//, "");
  if (entry.isFile) {
    files.push([path, await new Promise((resolve, reject) => entry.file(resolve, reject))]);
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    // Some at a time, until there are none.
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return;
    for (const each of some) await gather(each, files);
  }
}
