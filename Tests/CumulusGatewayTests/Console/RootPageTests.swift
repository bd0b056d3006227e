// The root of a node: a browser finds the console, and programs find what there is.

import CumulusGateway
import CumulusModel
import Testing

@Suite struct RootPageTests {
    private func ask(
        _ page: RootPage,
        _ method: String = "GET",
        accept: String? = nil
    ) async throws -> WebAnswer {
        var request = WebRequest(method, "/?x=1")
        if let accept { request.headers["accept"] = accept }
        return try #require(await page.answer(request))
    }

    private func header(_ name: String, _ answer: WebAnswer) -> String? {
        answer.headers.first { $0.name == name }?.value
    }

    @Test(arguments: [nil, "text/html,application/xhtml+xml,*/*;q=0.8", "*/*"])
    func aBrowserIsLedToTheConsole(_ accept: String?) async throws {
        let page = RootPage(hasConsole: true, hasSignIn: true)
        let answer = try await ask(page, accept: accept)
        #expect(answer.status == 302 && header("Location", answer) == "/console")
        #expect(try await ask(page, "HEAD", accept: accept).status == 302)
    }

    @Test func withoutAConsoleItSaysWhatThereIs() async throws {
        let page = RootPage(hasConsole: false, hasSignIn: false)
        let answer = try await ask(page, accept: "text/html")
        #expect(answer.status == 200)
        #expect(header("Content-Type", answer) == "text/html; charset=utf-8")
        #expect(header("Content-Security-Policy", answer)?.contains("default-src 'none'") == true)
        let text = String(decoding: answer.body, as: UTF8.self)
        #expect(text.contains("/database/1/") && text.contains("WebServices"))
        #expect(!text.contains("<script") && !text.contains("/console"))
    }

    @Test(arguments: [true, false]) func programsGetJSON(_ isOn: Bool) async throws {
        let page = RootPage(hasConsole: isOn, hasSignIn: isOn)
        let answer = try await ask(page, accept: "application/json")
        #expect(answer.status == 200)
        let json = try JSONReader.read(answer.body)
        let console: JSON = isOn ? "/console" : .null
        let signIn: JSON = isOn ? "/sign-in" : .null
        #expect(json["console"] == console && json["signIn"] == signIn)
        #expect(json["webServices"]?.string?.hasPrefix("/database/1/") == true)
    }

    @Test func itIsNoPageOfAnythingElse() async throws {
        let page = RootPage(hasConsole: true, hasSignIn: true)
        #expect(page.isAt("/") && !page.isAt("") && !page.isAt("/x") && !page.isAt("//"))
        #expect(await page.answer(WebRequest("GET", "/console")) == nil)
        let refused = try await ask(page, "POST")
        #expect(refused.status == 405 && header("Allow", refused) == "GET, HEAD")
    }
}
