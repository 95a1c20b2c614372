"""Recognises why a server refused a connection: it says so in its own language, and the client gets no SQLSTATE."""

from __future__ import annotations

import re

# A name may be anything, also the words of another message.
_NAME = re.compile(r"[\"»«“]\s?[^\"»«”]*?\s?[\"»«”]")

_WORDS: dict[str, tuple[str, ...]] = {
    "28P01": (
        "password authentication failed",
        "passwort-authentifizierung",
        "autentificación password falló",
        "authentification par mot de passe échouée",
        "autenticazione con password fallita",
        "パスワード認証に失敗",
        "პაროლით ავთენტიფიკაცია",
        "password 인증을 실패",
        "проверку подлинности (по паролю)",
        "lösenordsautentisering misslyckades",
        "автентифікацію за допомогою пароля",
        "password 认证失败",
    ),
    "3D000": (
        'database "" does not exist',
        'datenbank "" existiert nicht',
        "no existe la base de datos",
        'la base de données "" n\'existe pas',
        'il database "" non esiste',
        'データベース""は存在しません',
        'მონაცემთა ბაზა "" არ არსებობს',
        '"" 데이터베이스 없음',
        'база данных "" не существует',
        'databasen "" existerar inte',
        'бази даних "" не існує',
        '数据库 "" 不存在',
    ),
    "53300": (
        "too many clients",
        "too many connections for",
        "connection slots are reserved",
        "zu viele verbindungen",
        "demasiados clientes",
        "trop de clients",
        "troppi client",
        "クライアント数が多すぎます",
        "ბევრი კლიენტია",
        "최대 동시 접속자 수를 초과",
        "слишком много клиентов",
        "för många klienter",
        "забагато клієнтів",
        "太多的客户",
    ),
    "57P03": (
        "the database system is",
        "das datenbanksystem",
        "el sistema de base de datos está",
        "le système de base",
        "il database si sta",
        "データベースシステムは",
        "მონაცემთა ბაზის სისტემ",
        "데이터베이스 시스템이",
        "система баз данных",
        "databassystemet",
        "система бази даних",
        "数据库系统",
    ),
    "42501": (
        "permission denied for database",
        "keine berechtigung für datenbank",
        "permiso denegado a la base de datos",
        "droit refusé pour la base de données",
        "permesso negato per il database",
        'データベース""へのアクセスが拒否',
        "წვდომა აკრძალულია ბაზაზე",
        '"" 데이터베이스 액세스 권한 없음',
        'доступ к базе "" запрещён',
        "rättighet saknas för databas",
        'доступ до бази даних "" відхилений',
        '访问数据库""的权限不够',
    ),
    "28000": (
        "pg_hba.conf",
        'role "" does not exist',
        "is not permitted to log in",
        "peer authentication failed",
        'rolle "" existiert nicht',
        "peer-authentifizierung",
        "no existe el rol",
        "autentificación peer falló",
        'le rôle "" n\'existe pas',
        "authentification peer échouée",
        'il ruolo "" non esiste',
        "autenticazione peer fallita",
        'ロール""は存在しません',
        "(peer)",
        "როლი არ არსებობს",
        "პარტნიორის ავთენტიფიკაცია",
        '"" 롤(role) 없음',
        "peer 인증을 실패",
        'роль "" не существует',
        'rollen "" finns inte',
        "peer-autentisering misslyckades",
        'роль "" не існує',
        "автентифікацію peer",
        '角色 "" 不存在',
        "对等认证失败",
    ),
}
"""For each SQLSTATE what servers write in the languages of PostgreSQL, in lower case and with names left out."""


def refusal_state(message: str) -> str:
    """The SQLSTATE of a refusal to connect by its message; empty if it is not known."""
    text = _NAME.sub('""', message).lower()
    return next(
        (state for state, found in _WORDS.items() if any(words in text for words in found)),
        "",
    )
