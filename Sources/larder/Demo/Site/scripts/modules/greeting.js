// Imported only when main.js has filled the shelves.
export function greeting(count) {
    return `${count} jars on the shelves. Both modules ran.`;
}
