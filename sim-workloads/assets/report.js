// Turns the block of data of a report into plots. Each entry of `plots` is drawn in the
// element of its id:
//
//   { id, x: { label, log, from_zero }, y: { label }, sync, xs: [..],
//     series: [{ label, color, dash, ys, low, high, published }] }
//
// `low` and `high` are the ends of intervals, drawn as a band (a bar at a lone point);
// `published` are figures from elsewhere, drawn as diamonds. `null` is a gap.
(function () {
  "use strict";

  var DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3]];
  var TICK_DISTANCE = 34; // pixels between two labels of the horizontal axis
  var FEW = 40; // so many points are marked one by one

  function color(name) {
    return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  }

  // 12345678 becomes 12.3M.
  function short(value) {
    if (value == null) return "";
    var size = Math.abs(value);
    var units = [[1e9, "G"], [1e6, "M"], [1e4, "k"]];
    for (var i = 0; i < units.length; i++) {
      if (size >= units[i][0]) {
        var divided = value / (units[i][1] === "k" ? 1e3 : units[i][0]);
        return Number(divided.toPrecision(4)) + units[i][1];
      }
    }
    return String(Number(value.toPrecision(4)));
  }

  // The labels of an axis have one unit.
  function sameUnit(u, values) {
    var most = Math.max.apply(null, values.map(Math.abs));
    var unit = [[1e9, "G"], [1e6, "M"], [1e4, "k"], [0, ""]].find(function (unit) {
      return most >= unit[0];
    });
    var divisor = { G: 1e9, M: 1e6, k: 1e3, "": 1 }[unit[1]];
    return values.map(function (value) {
      return value === 0 ? "0" : Number((value / divisor).toPrecision(4)) + unit[1];
    });
  }

  function largest(values) {
    return (values || []).reduce(function (most, value) {
      return value != null && value > most ? value : most;
    }, 0);
  }

  // The end of an axis that begins at 0: a round number above all that is shown.
  function roundUp(value) {
    if (!(value > 0)) return 1;
    var power = Math.pow(10, Math.floor(Math.log10(value)));
    var steps = [1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10];
    for (var i = 0; i < steps.length; i++) {
      if (value <= steps[i] * power) return steps[i] * power;
    }
    return 10 * power;
  }

  // A round range: uPlot asks again whenever a line is hidden or shown.
  function verticalRange(plot) {
    return function (u) {
      var most = 0;
      plot.series.forEach(function (series, index) {
        if (!u.series[index + 1].show) return;
        most = Math.max(most, largest(series.ys), largest(series.high), largest(series.published));
      });
      return [0, roundUp(most * 1.02)];
    };
  }

  function horizontalRange(plot) {
    var first = plot.xs[0], last = plot.xs[plot.xs.length - 1];
    return function (u, low, high) {
      if (low == null || high == null) return plot.x.log ? [1, 10] : [0, 1];
      if (low === high) return plot.x.log ? [low / 2, high * 2] : [plot.x.from_zero ? 0 : low - 1, high + 1];
      if (low !== first || high !== last) return [low, high]; // a part was chosen
      if (plot.x.log) return [low / 1.12, high * 1.12];
      if (plot.x.from_zero) return [0, high];
      return [low - (high - low) * 0.03, high + (high - low) * 0.03];
    };
  }

  // On an axis of settings only values that were run have labels, as far as there is room.
  function splits(plot) {
    return function (u, axis, low, high) {
      var place = plot.x.log ? Math.log : Number;
      var width = u.bbox.width / devicePixelRatio;
      var kept = [], end = -Infinity;
      plot.xs.forEach(function (x) {
        if (x < low || x > high) return;
        var at = (place(x) - place(low)) / (place(high) - place(low)) * width;
        if (at - end >= TICK_DISTANCE) {
          kept.push(x);
          end = at;
        }
      });
      return kept;
    };
  }

  function valueText(series) {
    return function (u, value, number, index) {
      if (index == null || value == null) return "–";
      var text = short(value);
      if (series.low && series.low[index] != null) {
        text += " [" + short(series.low[index]) + ", " + short(series.high[index]) + "]";
      }
      if (series.published && series.published[index] != null) {
        text += ", published " + short(series.published[index]);
      }
      return text;
    };
  }

  function inPlot(u, draw) {
    var box = u.bbox, context = u.ctx;
    context.save();
    context.beginPath();
    context.rect(box.left, box.top, box.width, box.height);
    context.clip();
    draw(context, devicePixelRatio);
    context.restore();
  }

  function eachShown(u, plot, what, draw) {
    plot.series.forEach(function (series, index) {
      if (series[what] && u.series[index + 1].show) draw(series, color("c" + series.color));
    });
  }

  function intervals(plot) {
    return function (u) {
      inPlot(u, function (context, ratio) {
        eachShown(u, plot, "low", function (series, ink) {
          var upper = [], lower = [];
          plot.xs.forEach(function (x, i) {
            if (series.low[i] == null) return;
            var left = u.valToPos(x, "x", true);
            upper.push([left, u.valToPos(series.high[i], "y", true)]);
            lower.unshift([left, u.valToPos(series.low[i], "y", true)]);
          });
          context.fillStyle = context.strokeStyle = ink;
          context.globalAlpha = 0.18;
          context.beginPath();
          upper.concat(lower).forEach(function (point) { context.lineTo(point[0], point[1]); });
          context.fill();
          context.globalAlpha = 0.8;
          context.lineWidth = 1.5 * ratio;
          context.beginPath();
          upper.forEach(function (point, i) {
            context.moveTo(point[0], point[1]);
            context.lineTo(point[0], lower[lower.length - 1 - i][1]);
            // Most intervals are shorter than a point: their ends are beside it.
            [point[1], lower[lower.length - 1 - i][1]].forEach(function (y) {
              context.moveTo(point[0] - 6 * ratio, y);
              context.lineTo(point[0] + 6 * ratio, y);
            });
          });
          context.stroke();
        });
      });
    };
  }

  function published(plot) {
    return function (u) {
      var size = 5 * devicePixelRatio;
      u.ctx.save();
      eachShown(u, plot, "published", function (series, ink) {
        u.ctx.strokeStyle = ink;
        u.ctx.lineWidth = 2 * devicePixelRatio;
        plot.xs.forEach(function (x, i) {
          var y = series.published[i];
          if (y == null || x < u.scales.x.min || x > u.scales.x.max) return;
          var left = u.valToPos(x, "x", true), top = u.valToPos(y, "y", true);
          u.ctx.beginPath();
          u.ctx.moveTo(left, top - size);
          u.ctx.lineTo(left + size, top);
          u.ctx.lineTo(left, top + size);
          u.ctx.lineTo(left - size, top);
          u.ctx.closePath();
          u.ctx.stroke();
        });
      });
      u.ctx.restore();
    };
  }

  function height(plot, width) {
    return plot.sync ? 190 : Math.max(280, Math.min(420, width * 0.45));
  }

  // The pattern of a line, for its name.
  function key(series) {
    var ink = color("c" + series.color), at = 0;
    var dash = DASHES[series.dash % DASHES.length];
    if (!dash.length) return ink;
    var stops = dash.map(function (length, i) {
      var from = at;
      at += length;
      return (i % 2 ? "transparent " : ink + " ") + from + "px " + at + "px";
    });
    return "repeating-linear-gradient(90deg, " + stops.join(", ") + ")";
  }

  // A line over many settings that were not run would show what nobody knows.
  function bridgesGaps(plot, series) {
    var given = series.ys.filter(function (y) { return y != null; }).length;
    return plot.sync || 2 * given > plot.xs.length;
  }

  function options(plot, width) {
    var text = color("text"), grid = color("grid");
    var font = "12px system-ui, sans-serif", labelFont = "12px system-ui, sans-serif";
    var lines = { stroke: grid, width: 1 };
    var horizontal = {
      label: plot.x.label, labelSize: 20, size: 30, gap: 3,
      stroke: text, font: font, labelFont: labelFont, grid: lines, ticks: lines,
      values: function (u, values) { return values.map(short); },
    };
    if (!plot.x.from_zero) {
      horizontal.splits = splits(plot);
      horizontal.filter = function (u, values) { return values; };
    }
    return {
      width: width,
      height: height(plot, width),
      cursor: {
        y: false,
        drag: { x: true, y: false },
        sync: plot.sync ? { key: "time", scales: ["x", null], setSeries: false } : undefined,
      },
      scales: {
        x: { time: false, distr: plot.x.log ? 3 : 1, range: horizontalRange(plot) },
        y: { range: verticalRange(plot) },
      },
      axes: [horizontal, {
        label: plot.y.label, labelSize: 20, size: 52, gap: 3,
        stroke: text, font: font, labelFont: labelFont, grid: lines, ticks: lines,
        values: sameUnit,
      }],
      series: [{ label: plot.x.label, value: function (u, value) { return short(value) || "–"; } }].concat(
        plot.series.map(function (series) {
          var ink = color("c" + series.color);
          return {
            label: series.label, stroke: ink, width: 2, spanGaps: bridgesGaps(plot, series),
            dash: DASHES[series.dash % DASHES.length],
            points: { show: plot.xs.length <= FEW && !series.level, size: 6, fill: ink },
            value: valueText(series),
          };
        })
      ),
      legend: { markers: { width: 0, fill: function (u, index) {
        return index ? key(plot.series[index - 1]) : "none";
      } } },
      hooks: { drawAxes: [intervals(plot)], draw: [published(plot)] },
    };
  }

  // A plot is made when its element first has a width, which inside a closed <details> it
  // has not.
  function show(plot) {
    var element = document.getElementById(plot.id);
    var made = null;
    element.classList.toggle("settings", !plot.sync);
    function make(width) {
      if (made) made.destroy();
      var columns = plot.series.map(function (series) { return series.ys; });
      made = new uPlot(options(plot, width), [plot.xs].concat(columns), element);
    }
    new ResizeObserver(function () {
      var width = Math.floor(element.clientWidth);
      if (width === 0) return;
      if (!made) make(width);
      else if (made.width !== width) made.setSize({ width: width, height: height(plot, width) });
    }).observe(element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () {
      if (made) make(made.width);
    });
  }

  JSON.parse(document.getElementById("data").textContent).plots.forEach(show);
})();
