// What identity providers are sent, and what is taken from their answers.

import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct WebProviderTests {
    private let errand = SignInState.Errand(
        issuer: TestIssuer.url,
        verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
        nonce: "n-0S6",
        isKept: false
    )

    /// The verifier and its challenge are from RFC 7636, appendix B.
    @Test func theBrowserCarriesTheChallengeAndNotTheVerifier() throws {
        let provider = try TestProvider.provider(query: "?tenant=a")
        let url = provider.start(errand, state: "s1", back: "https://node.example/sign-in/callback")
        let parts = url.split(separator: "?", maxSplits: 1)
        #expect(parts[0] == "https://id.example.org/authorize")
        let fields = WebText.fields(of: String(parts[1]))
        #expect(
            fields == [
                "tenant": "a", "response_type": "code", "client_id": TestIssuer.app,
                "redirect_uri": "https://node.example/sign-in/callback", "scope": "openid email",
                "state": "s1", "nonce": "n-0S6", "code_challenge_method": "S256",
                "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
            ]
        )
    }

    @Test func theCodeIsExchangedWithOrWithoutASecret() throws {
        var provider = try TestProvider.provider()
        let open = provider.exchange("c/1", verifier: "v", back: "https://node")
        #expect(open.authorization == nil)
        let expected = [
            "grant_type": "authorization_code", "code": "c/1", "redirect_uri": "https://node",
            "code_verifier": "v",
        ]
        var body = WebText.fields(of: String(decoding: open.body, as: UTF8.self))
        #expect(body.removeValue(forKey: "client_id") == TestIssuer.app)
        #expect(body == expected)
        provider.clientSecret = "a:b+"
        let secret = provider.exchange("c/1", verifier: "v", back: "https://node")
        #expect(secret.authorization == "Basic " + Base64.encode("notes-app:a%3Ab%2B".utf8))
        #expect(WebText.fields(of: String(decoding: secret.body, as: UTF8.self)) == expected)
    }

    @Test func onlyAnIDTokenIsTaken() throws {
        #expect(
            try WebProvider.idToken(status: 200, Bytes(#"{"id_token": "a.b.c"}"#.utf8))
                == Bytes("a.b.c".utf8)
        )
        for (status, text, why) in [
            (200, "{}", "no id_token"), (200, #"{"id_token": 5}"#, "no id_token"),
            (200, "<html>", "no id_token"), (400, #"{"error": "invalid_grant"}"#, "invalid_grant"),
            (302, "", "302"),
        ] {
            let error = #expect(throws: WebProvider.Problem.self) {
                try WebProvider.idToken(status: status, Bytes(text.utf8))
            }
            #expect(error?.description.contains(why) == true)
        }
    }
}
