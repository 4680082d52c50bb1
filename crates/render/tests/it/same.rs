//! Whatever way a template takes, its output is MiniJinja's, and so are its errors and their
//! places.

use crate::common::{both, page};

/// Templates, one a line unless they have several.
const TEMPLATES: &[&str] = &[
    "",
    "plain <text>",
    "{{ title }}|{{ title|e }}|{{ title|safe }}|{{ title|escape|safe }}",
    "{{ n }} {{ neg }} {{ big }} {{ f }} {{ whole }} {{ t }} {{ no }} {{ list }} {{ user }} {{ empty }}",
    "{{ n|e }} {{ f|e }} {{ t|e }} {{ no|e }} {{ list|e }} {{ n|safe }} {{ t|safe }} {{ list|safe }}",
    "{{ \"\" }}{{ 'x<y' }}{{ 1 + 2 }}{{ [1, '<'] }}{{ -5 }}{{ 'a' ~ 'b' }}{{ 1.0 }}{{ true }}{{ none }}",
    "{{ 1 / 0 }}",
    "before {{ missing }} after",
    "{{ missing.deeper }}",
    "{{ user.missing }}",
    "{{ user.missing.deeper }}",
    "{{ user.name }} {{ user.address.city }} {{ user['name'] }} {{ list[1] }} {{ list[-1] }}",
    "{{ missing|default('d') }} {{ user.missing|default('e') }} {{ no|default('f', true) }}",
    "{{ missing is defined }} {{ n is defined }} {{ 'x' if false }}{{ 'y' if missing }}",
    "{{ title|upper }} {{ list|length }} {{ list|join(', ') }} {{ n + 1 }} {{ 'a' in list }}",
    "{{ nofilter|nope }}",
    "{{ n|nope }}",
    "{{ nofunction() }}",
    "{{ title.nomethod() }}",
    "{% if n %}a{% endif %}{% if empty %}b{% else %}c{% endif %}{% if no %}d{% elif t %}e{% endif %}",
    "{% if missing %}x{% endif %}",
    "{% if not missing %}x{% endif %}",
    "{% if n > 41 and n < 43 %}a{% endif %}{% if n == 42.0 %}b{% endif %}{% if title != 'x' or missing %}c{% endif %}",
    "{% if n > missing %}x{% endif %}",
    "{% if 1 < n < 50 %}x{% endif %}{% if 'two' in list %}y{% endif %}{% if n is divisibleby 2 %}z{% endif %}",
    "{% if t == true and not no and f >= 1.5 and list %}x{% endif %}{% if none %}y{% endif %}",
    "{% for x in list %}{{ loop.index }}/{{ loop.length }}:{{ x }}{% if not loop.last %}, {% endif %}{% endfor %}",
    "{% for x in list %}{{ loop.index0 }} {{ loop.revindex }} {{ loop.revindex0 }} {{ loop.first }} {{ loop.depth }}{{ loop.cycle('a', 'b') }};{% endfor %}",
    "{% for x in list %}{{ ',' if not loop.first }}{{ x }}{% endfor %}",
    "{% for x in none %}x{% else %}nothing{% endfor %}{% for x in list %}{{ x }}{% else %}nothing{% endfor %}",
    "{% for x in missing %}x{% endfor %}",
    "{% for x in n %}x{% endfor %}",
    "{% for x in user %}{{ x }}={{ user[x] }} {% endfor %}{% for k, v in user|items %}{{ k }}:{{ v }};{% endfor %}",
    "{% for k, v in pairs %}{{ k }}{{ v }}{% endfor %}{% for k, v in list %}x{% endfor %}",
    "{% for a, b, c in pairs %}x{% endfor %}",
    "{% for x in list if x %}{{ x }}{% endfor %}{% for x in list if x is string %}{{ loop.index }}{{ x }}{% endfor %}",
    "{% for x in list if x > missing %}{{ x }}{% endfor %}",
    "{% for x in list if false %}x{% else %}nothing{% endfor %}",
    "{% for x in range(3) %}{% for y in range(x) %}{{ x }}{{ y }} {{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}",
    "{% for x in range(5, 1, -2) %}{{ x }} {% endfor %}{{ range(4) }}{% for x in range(2, 9, 3) %}{{ x }}{% endfor %}{{ range(0)|length }}",
    "{% for x in range(1, 2, 0) %}{% endfor %}",
    "{% for a, b in range(3) %}x{% endfor %}",
    "{% for a in range(70000) %}xy{% endfor %}",
    "{% for x in list %}{% if loop.index == 3 %}{% break %}{% endif %}{{ x }}{% else %}e{% endfor %}",
    "{% for x in list %}{% break %}{% else %}e{% endfor %}",
    "{% for x in list %}{% if x is string %}{% continue %}{% endif %}{{ x }}{% else %}e{% endfor %}",
    "{% set a = 1 %}{{ a }}{% for x in list %}{% set a = x %}{{ a }}{% endfor %}{{ a }}",
    "{% for x in list %}{% if loop.first %}{% set a = 'set' %}{% endif %}{{ a|default('unset') }}{% endfor %}",
    "{% for x in [1, 2] %}{{ y|default('-') }}{% set y = x %}{{ y }}{% endfor %}{{ x|default('gone') }}",
    "{% set a, b = pairs[0] %}{{ a }}{{ b }}{% set a, b = list %}",
    "{% set ns = namespace(total=0) %}{% for x in range(4) %}{% set ns.total = ns.total + x %}{% endfor %}{{ ns.total }}",
    "{% set s %}<i>{{ title }}</i>{% endset %}{{ s }}|{{ s|upper }}|{{ s|length }}",
    "{% with a = 1, b = a %}{{ a }}{{ b|default('x') }}{% endwith %}{{ a|default('gone') }}",
    "{% with %}{% set n = 1 %}{{ n }}{% endwith %}{{ n }}",
    "{% if t %}{% set inner = 5 %}{% endif %}{{ inner }}",
    "{% autoescape false %}{{ title }}{{ title|e }}{% endautoescape %}{{ title }}{% autoescape 'json' %}{{ title }}{{ list }}{% endautoescape %}",
    "{% autoescape true %}{{ title }}{% endautoescape %}{% autoescape missing %}{{ title }}{% endautoescape %}",
    "{% filter upper %}{{ title }}{% endfilter %}",
    "{% macro cell(x) %}<td>{{ x }}</td>{% endmacro %}{% for row in rows %}{{ cell(row.path) }}{% endfor %}",
    "{% do range(3) %}x",
    "{% raw %}{{ x }}{% endraw %}{# comment #}  {%- if t -%}  a  {%- endif -%}  b",
    "{% for x in [[1,[2]],[3]] recursive %}{{ x if x is number else loop(x) }}{% endfor %}",
    "{% for x in list %}{{ loop.previtem|default('-') }}{{ loop.nextitem|default('+') }}{% endfor %}",
    "{% for x in list %}{% if loop.changed(x) %}{{ x }}{% endif %}{% endfor %}",
    "{% for x in list %}{{ loop }}{% endfor %}",
    "{% for row in rows %}<td>{{ row.id }}</td><td>{{ row.path }}</td>{{ row.size }}{{ row.ok }}{{ row.none }}{{ row.tags }}{{ row.at.city }}\n{% endfor %}",
    "{% for row in rows %}{{ loop.index }}{{ row.path|upper }}{{ row.path|e }}{{ row.path|safe }}{{ row['id'] }}{% endfor %}",
    "{% for row in rows %}{% if row.status >= 400 %}!{{ row.id }}{% elif row.ok %}+{% else %}-{% endif %}{% endfor %}",
    "{% for row in rows if row.status == 404 %}{{ row.id }},{% else %}none{% endfor %}",
    "{% for row in rows if row.status == 999 %}{{ row.id }},{% else %}none{% endfor %}",
    "{% for row in rows if row.ok %}{{ loop.index }}/{{ loop.length }}{% endfor %}",
    "{% for row in rows %}{{ row.missing }}{% endfor %}",
    "{% for row in rows %}{{ row.id }}{% if row.id == 3 %}\n {{ row.tags.nope.x }}{% endif %}{% endfor %}",
    "{% for row in rows %}{{ row }}{{ row|length }}{% for k in row %}{{ k }}{% endfor %}{% endfor %}",
    "{% for row in rows %}{% set last = row.id %}{{ last }}{% endfor %}",
    "{% for row in rows %}{% if row.id == 2 %}{% break %}{% endif %}{{ row.id }}{% endfor %}{{ loop|default('no loop') }}",
    "{% for row in rows %}{% for other in rows %}{{ row.id }}{{ other.id }} {% endfor %}{% endfor %}",
    "{% for r in rows %}{% for x in r.tags %}{{ x }}{{ r.id }}{{ loop.index }}{% endfor %}{% endfor %}",
    "{% set rows = [{'id': '<1>'}] %}{% for row in rows %}{{ row.id }}{% endfor %}",
    "{% for rows in rows %}{{ rows.id }}{% endfor %}",
    "{% for row in rows %}{% set row = {'id': 'other'} %}{{ row.id }}{% endfor %}",
    "{{ rows|first }}{{ (rows|list)|length }}{% for a, b in rows %}x{% endfor %}",
    "{% for row in rows|list %}{{ row.path }}{% endfor %}{% for row in rows|map(attribute='id') %}{{ row }}{% endfor %}",
    "{% set x %}{% for row in rows %}{{ row.path }}{% endfor %}{% endset %}{{ x }}",
    "{{ '<' if t else '>' }}{{ (title, 1) }}{{ {'a': title} }}{{ title[1:3] }}{{ list[::-1] }}",
    "{{ 'x' * 3 }}{{ 2 ** 10 }}{{ 7 // 2 }}{{ 7 % 4 }}{{ -n }}{{ not n }}",
    "{% for x in 'abc' %}{{ x }}{% endfor %}",
    "{{ debug() is string }}{{ dict(a=1) }}",
    "{{ self.block() }}",
    "{% block a %}<{{ title }}>{% set inside = 1 %}{% endblock %}{{ inside|default('gone') }}",
    "{% for x in list %}{% block b %}{{ x }}{{ loop.index }}{% endblock %}{% endfor %}",
    "{% include 'missing.html' ignore missing %}ok{% include 'missing.html' %}",
    "{% include ['missing.html', 'other.html'] %}",
    "line one\nline two {{ n }}\n  line three {{ n.a.b }} x\nline four",
];

const OTHERS: &[(&str, &str)] = &[
    ("base.html", "<html>{% block head %}<h1>{{ title }}</h1>{% endblock %}\n{% block body %}empty{% endblock %}</html>"),
    ("middle.html", "{% extends 'base.html' %}{% block head %}middle {% block inner %}in{% endblock %}{% endblock %}"),
    ("other.html", "[{{ title }}{{ extra|default('-') }}{{ row.id|default('no row') }}{% set leaked = 'leaked' %}]"),
    ("other.txt", "({{ title }}{{ title|e }}{% autoescape true %}{{ title }}{% endautoescape %})"),
    ("broken.html", "one\n{{ user.x.y }}"),
    ("again.html", "{% include 'again.html' %}"),
    ("macros.html", "{% macro m(x) %}<{{ x }}>{% endmacro %}"),
];

const FAMILIES: &[&str] = &[
    "{% extends 'base.html' %}{% block body %}{% for row in rows %}{{ row.path }}{% endfor %}{% endblock %}",
    "{% extends 'middle.html' %} ignored {% block inner %}deep {{ title }}{% endblock %}{% block body %}b{% endblock %}",
    "{% extends 'base.html' %}{% block head %}{{ super() }}!{% endblock %}",
    "{% extends 'base.html' %}{% set title = 'set' %}{% block body %}{{ title }}{% endblock %}",
    "before {% extends 'base.html' %}after",
    "{% extends 'missing.html' %}",
    "{% if t %}{% extends 'base.html' %}{% endif %}{% block body %}x{% endblock %}",
    "{% for row in rows %}{% include 'other.html' %}{% endfor %}{{ leaked|default('kept') }}",
    "{% set extra = 1 %}{% include 'other.html' %}{{ leaked }}{% include 'other.txt' %}",
    "{% for x in list %}{% include 'broken.html' %}{% endfor %}",
    "{% include 'again.html' %}",
    "{% import 'macros.html' as m %}{% for x in list %}{{ m.m(x) }}{% endfor %}",
    "{% from 'macros.html' import m %}{{ m(title) }}",
    "{% include name %}",
    "{% set name = 'other.html' %}{% include name %}",
];

fn check(name: &str, template: &str) {
    for lenient in [false, true] {
        for batch_rows in [1, 3, 100] {
            let mut files = vec![(name, template)];
            files.extend_from_slice(OTHERS);
            let (ours, theirs) = both(&files, &page(batch_rows), lenient);
            assert_eq!(ours, theirs, "{name}, lenient: {lenient}, {batch_rows} rows a batch: {template}");
        }
    }
}

#[test]
fn as_minijinja_writes_it() {
    for template in TEMPLATES.iter().chain(FAMILIES) {
        for name in ["page.html", "page.txt", "page.json", "page.xml.j2", "page.yaml.jinja"] {
            check(name, template);
        }
    }
}
