// Holds pages, style sheets and scripts to their rules.

import Testing

@Suite struct WebTests {
    @Test func everyFileForBrowsersKeepsTheRules() throws {
        let pages = try SourceTree.pages()
        #expect(Set(pages.map(\.kind)) == ["css", "html", "js", "svg"])
        for page in pages {
            #expect(WebRules.violations(page) == [], "\(page.path)")
        }
    }

    @Test func everyImportOfAModuleIsThereAndIsUsed() throws {
        #expect(WebModules.violations(try SourceTree.pages().filter { $0.kind == "js" }) == [])
    }

    private func violations(_ text: String, _ name: String) -> [String] {
        WebRules.violations(SourceFile(path: "Sources/CumulusPages/\(name)", text: text))
    }

    private func violations(ofScript code: String) -> [String] {
        violations("// A module.\n\nexport const a = 1;\n\(code)\n", "a.js")
    }

    // MARK: Text and layout

    @Test(arguments: [
        "\tf();", "f(); ", "f();\n\n\ng();", "f();\n", "f();\r\ng();",
        "f(\"\(String(repeating: "a", count: 100))\");",
    ])
    func textOfAnotherShapeIsReported(code: String) {
        #expect(violations(ofScript: code).count == 1)
    }

    @Test func aFileWithoutAnEndOrAHeadIsReported() {
        #expect(violations("// A module.\nexport const a = 1;", "a.js").count == 1)
        #expect(violations("export const a = 1;\n", "a.js") == ["no comment at its head"])
        #expect(violations("p { margin: 0; }\n", "a.css") == ["no comment at its head"])
        #expect(violations("<p>Text</p>\n", "a.html") == ["no comment at its head"])
        #expect(violations("<svg></svg>\n", "a.svg") == ["no comment at its head"])
    }

    @Test(arguments: [
        "if (a) {\n   f();\n}", "if (a) {\nf();\n}", "if (a) {\n    f();\n}",
        "if (a) {\n  f();\n  }",
        "f(a,\n   b);", "f([\n  a,\n  ]);", "f(a, {\n  b,\n  });",
        "  f();", "f();\n  g();", "if (a) {\n  f();\n    g();\n}", "if (a) {\n  f();\n}\n  g();",
        "switch (a) {\n  case 1:\n    f();\n  g();\n}",
    ])
    func anotherIndentationIsReported(code: String) {
        #expect(violations(ofScript: code).count == 1)
    }

    @Test(arguments: ["f(a;", "f(a));", "f([a)];", "const b = `${f(a}`;"])
    func bracketsThatDoNotMatchAreReported(code: String) {
        #expect(violations(ofScript: code).count >= 1)
    }

    @Test func styleSheetsHaveTheSameLayout() {
        #expect(violations("/* Looks. */\n\np {\n   margin: 0;\n}\n", "a.css").count == 1)
        #expect(violations("/* Looks. */\n\np { margin: 0;\n", "a.css").count == 1)
        #expect(violations("/* Looks {\n   of all. */\n\np {\n  margin: 0;\n}\n", "a.css") == [])
    }

    // MARK: Scripts

    @Test(arguments: [
        "var b = 1;", "if (a == 1) f();", "if (a != null) f();", "const b = 'text';",
        "element.innerHTML = a;", "element.insertAdjacentHTML(\"beforeend\", a);",
        "document.write(a);", "new DOMParser().parseFromString(a, \"text/html\");", "eval(a);",
        "element.outerHTML = a;", "frame.srcdoc = a;", "element.setHTMLUnsafe(a);",
        "range.createContextualFragment(a);", "new Function(a)();", "const b = `${a == 1}`;",
    ])
    func aMistakeOfAScriptIsReported(code: String) {
        #expect(violations(ofScript: code).count == 1)
    }

    @Test func aScriptIsAModuleOrStrict() {
        #expect(violations("// A script.\n\nf();\n", "a.js").count == 1)
        #expect(violations("// A script.\n\n\"use strict\";\n\nf();\n", "a.js") == [])
    }

    @Test(arguments: [
        "// var a == b; 'text'", "/* a != b */", "const b = \"a == b; var, (\";",
        "const b = `a == b {${f(`(${a === 1}`)} 'c' eval(`;", "const b = /[/'\"(]==\\/{/.test(c);",
        "const b = '[\"\"]';", "const b = a >= 1 && a <= 2 && a !== 3 ? (c) => c : a / 2 / 3;",
        "f(a, {\n  b,\n}, [\n  c,\n]);",
        "switch (a) {\n  case 1: f();\n  case 2:\n    f();\n    g();\n  default: h();\n}",
        "f(() => {\n  g();\n  h(a,\n    b);\n}, a);",
        "const b = (c) =>\n  c;", "function f() { return /\"/.test(a); }",
    ])
    func whatOnlyLooksLikeAMistakeIsNone(code: String) {
        #expect(violations(ofScript: code) == [])
    }

    // MARK: Markup

    @Test(arguments: [
        "<p onclick=\"f()\">Text</p>", "<img alt=\"\"\n  onerror = f()>",
        "<p style=\"margin: 0\">Text</p>",
        "<a href=\"javascript:f()\">Text</a>", "<style>p { margin: 0 }</style>",
        "<script>f();</script>", "<script type=\"module\">f();</script>", "<p>Text</p> ",
    ])
    func aMistakeOfAPageIsReported(markup: String) {
        #expect(violations("<!-- A page. -->\n\(markup)\n", "a.html").count == 1)
    }

    @Test(arguments: [
        "<p>Text on = a page</p>", "<!-- <p onclick=\"f()\"> -->",
        "<script src=\"/a.js\" defer></script>", "<p class=\"{{kind}}\">{{text}}</p>",
    ])
    func aPlainPageIsGood(markup: String) {
        #expect(violations("<!doctype html>\n<!-- A page. -->\n\(markup)\n", "a.html") == [])
    }

    /// An example is one file, which nothing but its reader serves.
    @Test func theScriptOfAnExampleKeepsTheRules() {
        func violations(_ code: String) -> [String] {
            let text = "<!-- A. -->\n<script type=\"module\">\n\(code)\n</script>\n"
            return WebRules.violations(SourceFile(path: "Sources/Examples/A/a.html", text: text))
        }
        #expect(violations("f();") == [])
        #expect(violations("var a;") == ["line 3: var in place of const or let"])
    }

    // MARK: Modules

    @Test func anImportOfNothingIsReported() {
        func violations(_ text: String) -> [String] {
            let texts = [
                "a.js": text, "b.js": "export async function b() {}\nexport const c = 1;\n",
            ]
            return WebModules.violations(
                texts.map { SourceFile(path: "Sources/CumulusPages/\($0)", text: $1) }
            )
        }
        #expect(violations("import { b,\n  c } from \"/console/b.js\";\nb(c);\n") == [])
        #expect(violations("import { b } from \"/console/b.js\";\n// b\n").count == 1)
        #expect(violations("import { d } from \"/console/b.js\";\nd();\n").count == 1)
        #expect(violations("import { b } from \"/console/c.js\";\nb();\n").count == 1)
    }
}
