const get = async (path) => {
  const reply = await fetch('/api' + path);
  if (!reply.ok) throw new Error(reply.status);
  return reply.json();
};
const card = { props: ['item'], template: `<li><router-link :to="'/products/' + item.id">
  <img :src="'/pictures/' + item.id + '.svg'" alt=""> {{ item.name }}</router-link>
  {{ item.price }} €</li>` };

const List = {
  components: { card }, data: () => ({ items: [], total: 0, q: '' }),
  template: `<div><h1>All goods</h1><input id="search" v-model="q" placeholder="Search">
    <p>{{ total }} results</p>
    <ul><card v-for="i in items" :key="i.id" :item="i"/></ul>
    <button v-if="items.length < total" @click="more">Load more</button></div>`,
  created() { this.more(); },
  watch: { q() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { this.items = []; this.more(); }, 200);
  } },
  methods: { async more() {
    const query = new URLSearchParams({ ...(this.q && { q: this.q }), offset: this.items.length });
    const reply = await get('/products?' + query);
    this.total = reply.total; this.items = this.items.concat(reply.items);
  } },
};
const Product = {
  data: () => ({ p: null, reviews: null }),
  template: `<div v-if="p"><h1>{{ p.name }}</h1><img :src="p.picture"><p>{{ p.text }}</p>
    <p>{{ p.price }} €</p>
    <button @click="tab">Reviews</button><p v-for="r in reviews"><b>{{ r.by }}</b>: {{ r.text }}</p>
    <router-link v-if="p.id < 19" :to="'/products/' + (p.id + 1)">Next</router-link></div>`,
  async created() { this.p = await get('/products/' + this.$where()); },
  methods: { async tab() { this.reviews = await get(`/products/${this.p.id}/reviews`); } },
};
const Category = {
  components: { card }, data: () => ({ page: 1, pages: 1, items: [] }),
  template: `<div><h1>Category {{ $where() }}</h1><ul><card v-for="i in items" :key="i.id" :item="i"/></ul>
    <p>Page {{ page }} of {{ pages }}</p>
    <button v-if="page < pages" @click="show(page + 1)">Next page</button></div>`,
  created() { this.show(1); },
  methods: { async show(page) {
    const reply = await get(`/categories/${this.$where()}?page=${page}`);
    Object.assign(this, { page, ...reply });
  } },
};
const routes = [[/^\/$/, List], [/^\/products\/(\d+)$/, Product], [/^\/categories\/(\w+)$/, Category]];
const route = Vue.observable({ path: location.pathname });
Vue.prototype.$where = () => route.path.split('/').pop();
addEventListener('popstate', () => { route.path = location.pathname; });
Vue.component('router-link', { props: ['to'], template: '<a :href="to" @click.prevent="go"><slot/></a>',
  methods: { go() { history.pushState(null, '', this.to); route.path = this.to; } } });
const page = () => (routes.find((r) => r[0].test(route.path)) || [])[1];
new Vue({ el: '#app', computed: { path: () => route.path, page },
  template: `<main><nav><router-link to="/">All</router-link>
    <router-link v-for="c in ['bowls', 'cups', 'plates']" :key="c"
      :to="'/categories/' + c">{{ c }}</router-link>
    </nav>
    <component v-if="page" :is="page" :key="path"/><p v-else>No such page</p></main>` });
