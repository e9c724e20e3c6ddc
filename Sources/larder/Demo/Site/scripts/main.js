import { jars } from "./modules/jars.js";

const shelves = document.querySelector("#shelves");
for (const jar of jars) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    item.className = "jar";
    link.href = `/jar.html?kind=${jar.kind}`;
    link.textContent = jar.name;
    item.append(link, document.createElement("br"), jar.text);
    shelves.append(item);
}

const { greeting } = await import("./modules/greeting.js");
document.querySelector("#greeting").textContent = greeting(jars.length);
