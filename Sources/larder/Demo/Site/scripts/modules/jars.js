export const jars = [
    { kind: "honey", name: "Honey", text: "Lime blossom, from last June." },
    { kind: "plum", name: "Plum jam", text: "Dark, with a little cinnamon." },
    { kind: "pickles", name: "Pickles", text: "Crisp, with dill and mustard seed." },
];

export function describe(kind) {
    return jars.find((jar) => jar.kind === kind) ?? { name: "An empty jar", text: "There is no jar of that kind here." };
}
