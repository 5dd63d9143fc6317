// Keys of a page. Whatever has data-key is pressed, followed or focused by that key; data-says is what ? tells of it.
// j and k go through what has data-row, Enter opens the data-open of the one that is marked.
(function () {
  "use strict";
  var help = document.getElementById("help");
  var writes = function (element) {
    return element.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName) && !/^(checkbox|radio|button|submit)$/.test(element.type);
  };
  var visible = function (element) { return element.getClientRects().length > 0; };
  var rows = function () { return Array.prototype.filter.call(document.querySelectorAll("[data-row]"), visible); };
  var mark = function (row) {
    rows().forEach(function (one) { one.removeAttribute("data-marked"); });
    row.setAttribute("data-marked", "");
    var target = row.querySelector("[data-open]") || row;
    target.focus({preventScroll: true});
    row.scrollIntoView({block: "nearest"});
  };
  var move = function (by) {
    var all = rows();
    if (!all.length) { return false; }
    var at = all.findIndex(function (one) { return one.hasAttribute("data-marked"); });
    mark(all[Math.min(Math.max(at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by, 0), all.length - 1)]);
    return true;
  };
  var tell = function () {
    var list = document.getElementById("help-keys");
    list.textContent = "";
    var add = function (key, text) {
      var line = document.createElement("div"), term = document.createElement("dt"), said = document.createElement("dd");
      term.textContent = key;
      said.textContent = text;
      line.append(term, said);
      list.append(line);
    };
    var seen = {};
    document.querySelectorAll("[data-key]").forEach(function (one) {
      var key = one.getAttribute("data-key");
      if (visible(one) && !seen[key]) { seen[key] = true; add(key, one.getAttribute("data-says") || one.textContent.trim()); }
    });
    if (rows().length && !seen.j) { add("j k", "next and previous row"); add("Enter", "open the row that is marked"); }
    add("?", "this list");
    help.showModal();
  };
  document.addEventListener("keydown", function (event) {
    var here = document.activeElement || document.body;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && here.form) { here.form.requestSubmit(); event.preventDefault(); return; }
    if (event.key === "Escape" && writes(here)) { here.blur(); return; }
    if (event.ctrlKey || event.metaKey || event.altKey || writes(here) || (help && help.open)) { return; }
    if (event.key === "?" && help) { tell(); event.preventDefault(); return; }
    var all = Array.prototype.filter.call(document.querySelectorAll("[data-key]"), function (one) {
      return one.getAttribute("data-key") === event.key && visible(one) && !one.disabled;
    });
    if (all.length) {
      event.preventDefault();
      if (writes(all[0]) || all[0].tagName === "SUMMARY") { all[0].focus(); if (all[0].tagName === "SUMMARY") { all[0].click(); } } else { all[0].click(); }
      return;
    }
    if ((event.key === "j" && move(1)) || (event.key === "k" && move(-1))) { event.preventDefault(); }
  });
})();
