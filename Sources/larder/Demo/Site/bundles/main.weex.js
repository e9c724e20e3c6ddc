// { "framework": "Vue" }
/******/ (function (modules) {
/******/   var installed = {};
/******/   function __webpack_require__(id) {
/******/     if (installed[id]) return installed[id].exports;
/******/     var module = installed[id] = { exports: {} };
/******/     modules[id].call(module.exports, module, module.exports, __webpack_require__);
/******/     return module.exports;
/******/   }
/******/   return __webpack_require__(0);
/******/ })([
/* 0 */ function (module, exports, __webpack_require__) {
    var App = __webpack_require__(1);
    App.el = "#root";
    new Vue(App);
},
/* 1 */ function (module, exports, __webpack_require__) {
    module.exports = {
        data: function () { return { jars: __webpack_require__(2) }; },
        style: { title: { fontSize: "48px", color: "#7a2a4a" }, row: { padding: "24px" } },
        render: function () {
            var create = this.$createElement;
            return create("list", this.jars.map(function (jar) {
                return create("cell", { class: ["row"] }, [create("text", { class: ["title"] }, [jar])]);
            }));
        }
    };
},
/* 2 */ function (module, exports) {
    module.exports = ["Honey", "Plum jam", "Pickles"];
}
]);
