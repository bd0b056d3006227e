// Values come into pages as text, whatever they hold.

import CumulusPages
import Testing

@Suite struct HTMLTemplateTests {
    private func template(_ text: String) -> HTMLTemplate { HTMLTemplate(Array(text.utf8)) }

    @Test func textIsEscaped() {
        let template = template("<p class=\"{{a}}\">{{b}}</p>\n")
        let page = template.filled(["a": HTML("\"><b>"), "b": HTML("<i>'&amp;'</i>")])
        #expect(
            page.text == """
                <p class="&quot;&gt;&lt;b&gt;">&lt;i&gt;&#39;&amp;amp;&#39;&lt;/i&gt;</p>
                """
        )
    }

    @Test func aValueIsNoTemplate() {
        let page = template("{{a}} {{b}} {{a}}").filled(["a": HTML("{{b}}"), "b": HTML("{{a}}")])
        #expect(page.text == "{{b}} {{a}} {{b}}")
    }

    @Test func filledTemplatesAreMarkup() {
        let item = template("<li>{{text}}</li>\n")
        let items = ["a", "<b>"].map { item.filled(["text": HTML($0)]) }
        let list = template("<ul{{kind}}>{{items}}</ul>\n")
            .filled(["items": HTML(items), "kind": HTML(markup: " hidden")])
        #expect(list.text == "<ul hidden><li>a</li><li>&lt;b&gt;</li></ul>")
    }

    @Test func theHeadOfAFileIsForItsReaders() {
        let page = template("<!doctype html>\n<!-- A page.\n\nWith {{braces}}. -->\n<p>Text</p>\n")
        #expect(page.filled().text == "<!doctype html>\n<p>Text</p>")
        #expect(template("<p>Text</p>\n").filled().text == "<p>Text</p>")
    }
}
