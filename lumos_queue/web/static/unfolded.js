// Keep what a person has unfolded when a live part of the page is replaced: details with an id stay open.
(function () {
  "use strict";
  var open = [];
  document.addEventListener("htmx:sseBeforeMessage", function (event) {
    open = Array.prototype.map.call(event.target.querySelectorAll("details[id][open]"), function (part) { return part.id; });
  });
  document.addEventListener("htmx:sseMessage", function () {
    open.forEach(function (id) {
      var part = document.getElementById(id);
      if (part) { part.open = true; }
    });
  });
})();
