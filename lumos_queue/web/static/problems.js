// Show the errors of parts of a page on the page: htmx does not insert error answers, so that they would be invisible.
// A part for which there is no place (503 with Retry-After) is requested again after that time.
(function () {
  "use strict";
  var line = null;
  var tell = function (text) {
    if (!line) {
      line = document.createElement("p");
      line.className = "warning";
      line.setAttribute("role", "alert");
    }
    line.textContent = text;
    document.getElementById("main").prepend(line);
    line.scrollIntoView({block: "nearest"});
  };
  var repeat = function (detail) {
    var seconds = parseInt(detail.xhr.getResponseHeader("Retry-After"), 10), config = detail.requestConfig;
    if (detail.xhr.status !== 503 || config.verb !== "get" || !(seconds > 0)) { return false; }
    setTimeout(function () {
      if (document.contains(config.elt)) { htmx.ajax("GET", config.path, {source: config.elt, target: detail.target}); }
    }, 1000 * seconds);
    return true;
  };
  document.addEventListener("htmx:responseError", function (event) {
    if (repeat(event.detail)) { return; }
    tell(event.detail.xhr.responseText.slice(0, 500) || "The server answers with an error: load the page again.");
  });
  document.addEventListener("htmx:sendError", function () { tell("The server does not answer: try again in a while."); });
  document.addEventListener("htmx:afterSwap", function () { if (line) { line.remove(); } });
})();
