# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Charts in the look of include/heddle/report, whose colours and style they read from svg.hpp."""
import math
import re

from tree import INCLUDE

_SVG = (INCLUDE / "report/svg.hpp").read_text()
PALETTE = re.findall(r'"(#[0-9a-f]{6})"', re.search(r"palette\[\] = \{(.*?)\};", _SVG, re.S).group(1))
_STYLE = re.search(r"style\(\) noexcept \{\s*return (.*?);\s*\}\s", _SVG, re.S).group(1)
STYLE = "".join(re.findall(r'"([^"]*)"', _STYLE)).replace("\\n", "\n")
WIDTH = 760
BAR = 8


def fixed(value, decimals=2):
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def text_width(text, size=12):
    return len(text) * size * 0.6


class Svg:
    """A picture under construction. Units: pixels, y downwards."""

    def __init__(self, height, title):
        self.height, self.title, self.body = height, title, []

    def line(self, x1, y1, x2, y2, style="grid", extra=""):
        x1, y1, x2, y2 = map(fixed, (x1, y1, x2, y2))
        self.body.append(f'<line class="{style}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"{extra}/>')

    def box(self, x, y, w, h, fill, hint=""):
        end = f"><title>{escape(hint)}</title></rect>" if hint else "/>"
        x, y, w, h = map(fixed, (x, y, w, h))
        self.body.append(f'<rect x="{x}" y="{y}" width="{w}" height="{h}" fill="{fill}"{end}')

    def text(self, x, y, text, size=12, anchor="start", style="ink"):
        self.body.append(f'<text class="{style}" x="{fixed(x)}" y="{fixed(y)}" font-size="{size}" '
                         f'text-anchor="{anchor}">{escape(text)}</text>')

    def curve(self, points, stroke):
        joined = " ".join(f"{fixed(x)},{fixed(y)}" for x, y in points)
        self.body.append(f'<polyline fill="none" stroke-width="1.8" stroke-linejoin="round" stroke="{stroke}" '
                         f'points="{joined}"/>')
        for x, y in points:
            self.body.append(f'<circle cx="{fixed(x)}" cy="{fixed(y)}" r="3" fill="{stroke}"/>')

    def legend(self, names, top):
        """Coloured keys in as many rows as they need; returns the height that they took."""
        x, y = 12, top
        for i, name in enumerate(names):
            wide = 34 + text_width(name)
            if x > 12 and x + wide > WIDTH - 12:
                x, y = 12, y + 18
            self.box(x, y, 11, 11, PALETTE[i % len(PALETTE)])
            self.text(x + 16, y + 10, name)
            x += wide
        return y + 18 - top

    def finish(self):
        height = fixed(self.height)
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
                f'viewBox="0 0 {WIDTH} {height}" role="img" style="background:none" '
                'font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif">\n'
                f"<title>{escape(self.title)}</title>\n<style>{STYLE}</style>\n" + "\n".join(self.body) + "\n</svg>\n")


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def marks(most, steps):
    """Round numbers from 0 to at least `most`, and the decimals that they need."""
    power = 10 ** math.floor(math.log10(most / steps))
    step = next(f * power for f in (1, 2, 5, 10) if f * power * steps >= most * (1 - 1e-9))
    return [k * step for k in range(math.ceil(most / step - 1e-9) + 1)], max(0, -math.floor(math.log10(step) + 1e-9))


def bars(title, x_name, rows, reference=None, at_most=math.inf):
    """Horizontal bars: rows {label: {series: (value, ceiling or None)}}. `reference` is a line over all rows; longer
    bars than `at_most` are cut and still say their value."""
    series = list(dict.fromkeys(s for row in rows.values() for s in row))
    values = [max(v, c or 0) for row in rows.values() for v, c in row.values()]
    scale, decimals = marks(min(at_most, max(values + [reference or 0])), 8)
    left = 24 + max(text_width(label) for label in rows)
    right = WIDTH - 60
    pitch = max(16, BAR * len(series) + 6)
    picture = Svg(0, title)
    picture.text(12, 22, title, 15)
    top = 36 + (picture.legend(series, 36) if len(series) > 1 else 0) + 6
    bottom = top + pitch * len(rows)
    x = lambda v: left + (right - left) * min(v, scale[-1]) / scale[-1]
    for mark in scale:
        picture.line(x(mark), top, x(mark), bottom)
        picture.text(x(mark), bottom + 16, fixed(mark, decimals), anchor="middle", style="soft")
    for i, (label, row) in enumerate(rows.items()):
        y = top + pitch * i + (pitch - BAR * len(row)) / 2
        picture.text(left - 8, top + pitch * (i + 0.5) + 4, label, anchor="end")
        for k, (name, (value, ceiling)) in enumerate(row.items()):
            at = y + BAR * k
            shown = f"{value:.2f}" if value < 10 else f"{value:.0f}"
            picture.box(left, at, x(value) - left, BAR - 1, PALETTE[series.index(name) % len(PALETTE)],
                        f"{label}, {name}: {shown}")
            after = x(value)
            if ceiling:
                picture.line(x(ceiling), at - 1, x(ceiling), at + BAR, "axis", ' stroke-width="2"')
                hidden = after - 4 < x(ceiling) < after + 8 + text_width(shown, 9)
                after = max(after, x(ceiling)) if hidden else after
            picture.text(after + 4, at + BAR, shown, 9, style="soft")
    if reference is not None:
        picture.line(x(reference), top - 4, x(reference), bottom, "axis", ' stroke-dasharray="4 3"')
    picture.line(left, top, left, bottom, "axis")
    picture.text((left + right) / 2, bottom + 34, x_name, anchor="middle")
    picture.height = bottom + 44
    return picture.finish()


def curves(title, x_name, y_name, lines, reference=None):
    """Curves over sizes at equal distances: lines {name: {size: value}}."""
    sizes = sorted({size for points in lines.values() for size in points})
    most = max([v for points in lines.values() for v in points.values()] + [reference or 0])
    scale, decimals = marks(most, 6)
    picture = Svg(400, title)
    picture.text(12, 22, title, 15)
    top = 36 + picture.legend(lines, 36) + 26
    left, right, bottom = 56, WIDTH - 40, picture.height - 50
    x = lambda size: left + 24 + (right - left - 48) * sizes.index(size) / max(1, len(sizes) - 1)
    y = lambda v: bottom - (bottom - top) * v / scale[-1]
    for mark in scale:
        picture.line(left, y(mark), right, y(mark))
        picture.text(left - 8, y(mark) + 4, fixed(mark, decimals), anchor="end", style="soft")
    for size in sizes:
        picture.line(x(size), bottom, x(size), bottom + 5, "axis")
        picture.text(x(size), bottom + 19, str(size), anchor="middle", style="soft")
    if reference is not None:
        picture.line(left, y(reference), right, y(reference), "axis", ' stroke-dasharray="4 3"')
    picture.line(left, bottom, right, bottom, "axis")
    picture.line(left, top, left, bottom, "axis")
    for i, points in enumerate(lines.values()):
        picture.curve([(x(size), y(points[size])) for size in sorted(points)], PALETTE[i % len(PALETTE)])
    picture.text((left + right) / 2, bottom + 38, x_name, anchor="middle")
    picture.text(12, top - 12, y_name)
    return picture.finish()
