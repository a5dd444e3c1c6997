"""What the rule brain says, in English and Spanish."""

from __future__ import annotations

from typing import Any

from support_desk.talk import Language

_STATES = {
    "en": {},
    "es": {"processing": "en preparación", "shipped": "enviado", "delivered": "entregado", "cancelled": "cancelado"},
}

_PHRASES: dict[str, dict[Language, str]] = {
    "greeting": {
        "en": "Hello! Tell me your order number and what I can do for you.",
        "es": "¡Hola! Dime tu número de pedido y en qué puedo ayudarte.",
    },
    "thanks": {"en": "You are welcome.", "es": "De nada."},
    "which_order": {
        "en": "Which order is it about? Your newest ones are {orders}.",
        "es": "¿De qué pedido se trata? Los más recientes son {orders}.",
    },
    "several": {
        "en": "More than one customer has that name. What is the e-mail address of your account?",
        "es": "Hay más de un cliente con ese nombre. ¿Cuál es el correo de tu cuenta?",
    },
    "no_customer": {
        "en": "I cannot find an account like that. What is the e-mail address of your account?",
        "es": "No encuentro esa cuenta. ¿Cuál es el correo de tu cuenta?",
    },
    "no_order": {
        "en": "There is no order {order_id}. Could you check the number?",
        "es": "No existe el pedido {order_id}. ¿Puedes revisar el número?",
    },
    "not_yours": {
        "en": "I am sorry, I can only help with the account that is signed in and its own orders.",
        "es": "Lo siento, solo puedo ayudar con la cuenta que ha iniciado sesión y con sus propios pedidos.",
    },
    "not_signed_in": {
        "en": "Please sign in first, then I can help you with your orders.",
        "es": "Inicia sesión primero, por favor, y podré ayudarte con tus pedidos.",
    },
    "status": {
        "en": "Your order {order_id} ({items}) is {state}.",
        "es": "Tu pedido {order_id} ({items}) está {state}.",
    },
    "status_expected": {
        "en": "Your order {order_id} ({items}) is {state}; we expect it to arrive on {day}.",
        "es": "Tu pedido {order_id} ({items}) está {state}; esperamos que llegue el {day}.",
    },
    "status_delivered": {
        "en": "Your order {order_id} ({items}) was delivered on {day}.",
        "es": "Tu pedido {order_id} ({items}) fue entregado el {day}.",
    },
    "refunded": {
        "en": "I have refunded {amount} for order {order_id}; the reference is {refund_id}.",
        "es": "He reembolsado {amount} del pedido {order_id}; la referencia es {refund_id}.",
    },
    "refunded_before": {
        "en": "Order {order_id} was refunded already: {amount} on {day}, reference {refund_id}.",
        "es": "El pedido {order_id} ya fue reembolsado: {amount} el {day}, referencia {refund_id}.",
    },
    "not_delivered": {
        "en": "Order {order_id} is {state}, so I cannot refund it yet.",
        "es": "El pedido {order_id} está {state}, así que todavía no puedo reembolsarlo.",
    },
    "too_much": {
        "en": "For order {order_id} I can refund {amount} at most. Shall I do that?",
        "es": "Del pedido {order_id} puedo reembolsar como máximo {amount}. ¿Lo hago?",
    },
    "denied": {
        "en": "I am sorry, the refund for order {order_id} was not approved, so nothing was paid out.",
        "es": "Lo siento, el reembolso del pedido {order_id} no fue aprobado, así que no se ha pagado nada.",
    },
    "handed_over": {
        "en": "I have handed your case to a colleague, who will write to you; the ticket is {ticket_id}.",
        "es": "He pasado tu caso a una persona del equipo, que te escribirá; el número es {ticket_id}.",
    },
    "nothing_works": {
        "en": "I am sorry, our systems cannot be reached now. Please write again in a while.",
        "es": "Lo siento, ahora no podemos acceder a nuestros sistemas. Escríbenos de nuevo en un rato.",
    },
}


def phrase(name: str, language: Language, **values: Any) -> str:
    """One of the sentences, with its blanks filled."""
    return _PHRASES[name][language].format(**values)


def money(cents: int, currency: str, language: Language) -> str:
    """As people write it: `49.90 EUR`, `49,90 EUR`."""
    point = "," if language == "es" else "."
    return f"{cents // 100}{point}{cents % 100:02} {currency}"


def state_name(state: str, language: Language) -> str:
    """The state of an order in words."""
    return _STATES[language].get(state, state)
