import Testing

@testable import Web

@Suite struct LoginPageSignsTests {
    @Test(
        "A title with a phrase for logging in is recognised in capitals, too",
        arguments: [
            "Log in – Example", "SIGN IN", "Anmelden", "Iniciar Sesión", "Přihlášení", "Вход",
            "ВОЙТИ | Пример", "登录",
        ])
    func loginTitles(_ title: String) {
        #expect(LoginPageSigns.isLoginTitle(title))
    }

    @Test(
        "Another title is not",
        arguments: ["", "Logs of the harbour", "Ввод", String(repeating: "é", count: 300) + "login"])
    func otherTitles(_ title: String) {
        #expect(!LoginPageSigns.isLoginTitle(title))
    }
}
